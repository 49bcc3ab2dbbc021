// Completes a verification with a client whose types are generated from the OpenAPI document.
//
//     node by_typescript.js BASE KEY ARCHIVE SCENARIO

import { readFileSync } from "node:fs";
import { argv } from "node:process";
import createClient from "openapi-fetch";
import type { components, paths } from "./api.js";

type Job = components["schemas"]["JobReport"];

const [base, key, archive, scenario] = argv.slice(2) as [string, string, string, string];
const client = createClient<paths>({ baseUrl: base, headers: { Authorization: `Bearer ${key}` } });

async function submit(): Promise<Job> {
  const form = new FormData();
  form.append("policy", new Blob([new Uint8Array(readFileSync(archive))], { type: "application/zip" }), "policy.zip");
  form.append("scenario", scenario);
  form.append("num_episodes", "1");
  form.append("record", "none");
  const { data, error } = await client.POST("/verify", {
    body: { policy: archive, scenario, num_episodes: 1, record: "none" },
    bodySerializer: () => form,
  });
  if (error !== undefined) {
    throw new Error(error.error.message);
  }
  return data;
}

async function ended(job: Job): Promise<Job> {
  const { data, error } = await client.GET("/verify/{job_id}", { params: { path: { job_id: job.job_id } } });
  if (error !== undefined) {
    throw new Error(error.error.message);
  }
  if (data.status === "COMPLETED" || data.status === "FAILED" || data.status === "CANCELLED") {
    return data;
  }
  await new Promise((resolve) => setTimeout(resolve, 200));
  return ended(data);
}

console.log((await ended(await submit())).verdict);
