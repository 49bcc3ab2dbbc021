// Renders the reference of ../openapi.json, with the URLs under which this page is reached.
"use strict";

/** Default address of a service without a public URL, as it appears in the document. */
const DEFAULT_BASE = "http://127.0.0.1:8080";

/** The address of the service, without /v1. */
function base() {
  const folder = new URL("..", location.href).href.replace(/\/$/, "");
  return folder.replace(/\/v1$/, "");
}

function withAddresses(document) {
  if (document.servers.every((server) => server.url.startsWith("/"))) {
    document.info.description = document.info.description.replaceAll(DEFAULT_BASE, base());
    for (const server of document.servers) server.url = base() + server.url.replace(/\/$/, "");
  }
  return document;
}

function draw(content) {
  const position = ({ path, method }) => content.paths[path]?.[method.toLowerCase()]?.["x-position"] ?? Infinity;
  Scalar.createApiReference("#reference", {
    content,
    operationsSorter: (one, other) => position(one) - position(other),
    defaultHttpClient: { targetKey: "shell", clientKey: "curl" },
    orderSchemaPropertiesBy: "preserve",
    documentDownloadType: "none",
    authentication: { preferredSecurityScheme: "key" },
    // Words in tables are not broken.
    customCss: ".markdown table { table-layout: auto } .markdown :is(th, td, td code) { word-break: normal; overflow-wrap: normal }",
    // Disables everything that would need another host.
    withDefaultFonts: false,
    telemetry: false,
    agent: { disabled: true },
    mcp: { disabled: true },
    hideClientButton: true,
    showDeveloperTools: "never",
  });
}

async function start() {
  const answer = await fetch("../openapi.json");
  if (!answer.ok) throw new Error(`GET openapi.json returned ${answer.status}`);
  draw(withAddresses(await answer.json()));
}

start().catch((error) => {
  document.getElementById("reference").textContent = `The reference could not be rendered: ${error.message}`;
});
