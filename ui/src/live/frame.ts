const FRAME_MS = 16;

/**
 * One flush a frame for all stores. The first change after a pause is shown at once, so that one alone does not wait for the next frame;
 * what follows it does. A page that nobody sees draws nothing, but its title counts on: there a timer does.
 */
const due = new Set<() => void>();
let asked = false;
let watching = false;
let ranAt = -Infinity;

export function onFrame(flush: () => void): void {
  if (!watching) {
    watching = true;
    // A frame that was asked for before the page was hidden does not come before somebody looks again.
    document.addEventListener('visibilitychange', () => {
      if (document.hidden && asked) setTimeout(run, 250);
    });
  }
  due.add(flush);
  if (asked) return;
  asked = true;
  if (document.hidden) setTimeout(run, 250);
  else if (performance.now() - ranAt >= FRAME_MS) queueMicrotask(run);
  else requestAnimationFrame(run);
}

function run(): void {
  asked = false;
  ranAt = performance.now();
  const now = [...due];
  due.clear();
  for (const flush of now) {
    try {
      flush();
    } catch (error) {
      // What has not run would never be due again.
      reportError(error);
    }
  }
}
