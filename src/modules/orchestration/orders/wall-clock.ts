import { readSchedule } from '../../files/composition/formats/cron.js';

const MINUTE = 60_000;
const DAY = 86_400_000;
/** Minutes that a clock shows twice in one night, and more. */
const REPEATED = 26 * 60;
/** By the zone in small letters: whoever writes files may write a name in thousands of ways, and each of these is some 30 KiB. */
const formats = new Map<string, Intl.DateTimeFormat>();
const KEPT = 200;

/**
 * The next times of a schedule after this one, as a clock on a wall of that zone shows them. A minute that the clock shows twice
 * counts the first time; one that it leaves out is made up for in the first minute that there is.
 */
export function timesAfter(schedule: string, zone: string, after: Date, count = 1): Date[] {
  const read = readSchedule(schedule);
  if (typeof read === 'string') return [];
  const times: Date[] = [];
  let last = after.getTime();
  let wall: Date | undefined = new Date(last + offsetAt(zone, last));
  for (let turns = 0; times.length < count && turns < count + REPEATED; turns++) {
    wall = read.next(wall);
    if (wall === undefined) return times;
    const at = instantOf(wall.getTime(), zone);
    if (at <= last) continue;
    times.push(new Date(at));
    last = at;
  }
  return times;
}

/** When a clock of the zone shows this for the first time. */
function instantOf(wall: number, zone: string): number {
  const offsets = [offsetAt(zone, wall - DAY), offsetAt(zone, wall + DAY)];
  const shown = offsets.map((offset) => wall - offset).filter((at) => at + offsetAt(zone, at) === wall);
  if (shown.length > 0) return Math.min(...shown);
  // It is left out: the clock jumps between the two.
  let [before, since] = [wall - Math.max(...offsets) - MINUTE, wall - Math.min(...offsets)] as [number, number];
  const later = offsetAt(zone, since);
  while (since - before > MINUTE) {
    const middle = before + Math.floor((since - before) / 2 / MINUTE) * MINUTE;
    if (offsetAt(zone, middle) === later) since = middle;
    else before = middle;
  }
  return since;
}

/** Milliseconds that clocks of the zone are ahead of UTC. */
function offsetAt(zone: string, at: number): number {
  const whole = Math.floor(at / 1000) * 1000;
  const parts = formatOf(zone).formatToParts(whole);
  const value = (type: string): number => Number(parts.find((part) => part.type === type)!.value);
  const shown = Date.UTC(value('year'), value('month') - 1, value('day'), value('hour') % 24, value('minute'), value('second'));
  return shown - whole;
}

function formatOf(zone: string): Intl.DateTimeFormat {
  const key = zone.toLowerCase();
  let format = formats.get(key);
  if (format === undefined) {
    const numeric = { year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit', second: '2-digit' } as const;
    formats.set(key, (format = new Intl.DateTimeFormat('en-US', { timeZone: zone, hourCycle: 'h23', era: undefined, ...numeric })));
    if (formats.size > KEPT) formats.delete(formats.keys().next().value!);
  }
  return format;
}
