/** So often a process looks at what is open: a timer of its own for each room would wake it as often once more, where nothing is open too. */
const TICK_MS = 250;
/** What is meant for a tick may come so much after it. */
const SLACK_MS = 10;

interface Look {
  readonly everyTicks: number;
  readonly look: () => void;
  next: number;
}

const BEGAN = performance.now();
const looks = new Set<Look>();
let timer: NodeJS.Timeout | undefined;

/** Calls `look` at ticks, `everyMs` apart, all that are due in one turn. It keeps no process alive. Returns how to end it. */
export function onTicks(look: () => void, everyMs = TICK_MS): () => void {
  const one = { look, everyTicks: Math.max(1, Math.round(everyMs / TICK_MS)), next: -Infinity };
  looks.add(one);
  timer ??= next();
  return () => {
    looks.delete(one);
    if (looks.size > 0) return;
    clearTimeout(timer);
    timer = undefined;
  };
}

/** How long to rest so that it ends with a tick: `ms`, or up to a tick less. What is shorter than two ticks stays as it is. */
export function inStep(ms: number, now = performance.now()): number {
  return ms < 2 * TICK_MS ? ms : untilTick(tickAt(now + ms), now);
}

function tickAt(at: number): number {
  return Math.floor((at + SLACK_MS - BEGAN) / TICK_MS);
}

function untilTick(tick: number, now: number): number {
  return Math.ceil(BEGAN + tick * TICK_MS - now);
}

function next(): NodeJS.Timeout {
  const now = performance.now();
  return setTimeout(onTick, untilTick(tickAt(now) + 1, now)).unref();
}

function onTick(): void {
  timer = next();
  const tick = tickAt(performance.now());
  for (const one of looks) {
    // A tick may have been missed.
    if (tick < one.next) continue;
    one.next = (Math.floor(tick / one.everyTicks) + 1) * one.everyTicks;
    one.look();
  }
}
