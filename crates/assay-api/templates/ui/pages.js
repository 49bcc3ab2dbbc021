// The script of pages with a video or with live progress. Every page is complete without it.
"use strict";

// An episode: links and plots move the video, and the video moves a line in every plot.
function play(video) {
  const plots = [...document.querySelectorAll("svg.signal")].map((svg) => {
    const { left, right, end } = svg.dataset;
    const line = document.createElementNS("http://www.w3.org/2000/svg", "line");
    line.setAttribute("class", "cursor");
    line.setAttribute("y1", "14");
    line.setAttribute("y2", "118");
    svg.append(line);
    return { svg, line, left: Number(left), width: right - left, end: Number(end) };
  });
  const seek = (time) => {
    video.pause();
    video.currentTime = Math.max(0, time);
  };
  const draw = () => {
    for (const { line, left, width, end } of plots) {
      const x = left + width * Math.min(1, video.currentTime / end);
      line.setAttribute("x1", x);
      line.setAttribute("x2", x);
    }
  };
  const follow = () => {
    draw();
    if (!video.paused && !video.ended) requestAnimationFrame(follow);
  };
  for (const { svg, left, width, end } of plots) {
    svg.addEventListener("click", (event) => {
      const box = svg.getBoundingClientRect();
      const x = ((event.clientX - box.left) / box.width) * svg.viewBox.baseVal.width;
      seek(((x - left) / width) * end);
    });
  }
  for (const link of document.querySelectorAll("a[data-seek]")) {
    link.addEventListener("click", (event) => {
      event.preventDefault();
      seek(Number(link.dataset.seek));
      video.scrollIntoView({ block: "nearest" });
    });
  }
  video.addEventListener("play", follow);
  for (const name of ["timeupdate", "seeked", "loadedmetadata"]) video.addEventListener(name, draw);
  draw();
}

// A job: the content of the page is fetched again when something happens, at most once in a pause that the page sets.
const PAUSE_MS = 1500;
const RETRY_MS = 3000;
let waiting = false;
let stream = null;

function refresh() {
  if (waiting) return;
  waiting = true;
  const pause = Number(document.getElementById("live")?.dataset.pause) || PAUSE_MS;
  setTimeout(async () => {
    waiting = false;
    try {
      const answer = await fetch(location.href, { headers: { accept: "text/html" } });
      if (!answer.ok) throw new Error(`status ${answer.status}`);
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      replace(page);
    } catch {
      lost(true);
      setTimeout(refresh, RETRY_MS);
    }
  }, pause);
}

function replace(page) {
  const [old, fresh] = [document.getElementById("live"), page.getElementById("live")];
  if (old && fresh && fresh.dataset.events) {
    old.dataset.pause = fresh.dataset.pause;
    old.replaceChildren(...fresh.childNodes);
    return;
  }
  document.title = page.title;
  document.querySelector("main").replaceWith(page.querySelector("main"));
  begin();
}

function lost(isLost) {
  const note = document.querySelector(".lost");
  if (note) note.hidden = !isLost;
}

function listen(address) {
  stream?.close();
  stream = new EventSource(address);
  stream.onopen = () => lost(false);
  stream.onmessage = (event) => {
    const update = JSON.parse(event.data);
    const message = document.querySelector("[data-message]");
    if (message && update.message && !update.done) message.textContent = `${update.message[0].toUpperCase()}${update.message.slice(1)}.`;
    if (update.done) stream.close();
    refresh();
  };
  stream.onerror = () => {
    lost(true);
    // A browser reconnects by itself unless the answer was an error.
    if (stream.readyState === EventSource.CLOSED) setTimeout(() => again(address), RETRY_MS);
  };
}

function again(address) {
  refresh();
  if (document.getElementById("live")?.dataset.events === address) listen(address);
}

function begin() {
  const video = document.getElementById("video");
  if (video) play(video);
  const address = document.getElementById("live")?.dataset.events;
  if (address) listen(address);
  if (document.querySelector("[data-poll]")) setTimeout(refresh, PAUSE_MS);
}

begin();
