/** One flush a frame for all stores. A page that nobody sees draws nothing, but its title counts on: there a timer does. */
const due = new Set<() => void>();
let asked = false;
let watching = false;

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
  else requestAnimationFrame(run);
}

function run(): void {
  asked = false;
  const now = [...due];
  due.clear();
  for (const flush of now) flush();
}
