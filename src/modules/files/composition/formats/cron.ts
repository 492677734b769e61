import { CronExpressionParser, type CronExpression } from 'cron-parser';

const FIELDS = 5;
const LONGEST = 200;
/** Figures, names of months and days, and what joins them: nothing of what other dialects have beside that. */
const MONTHS = 'jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec';
const DAYS = 'sun|mon|tue|wed|thu|fri|sat';
const part = (value: string): RegExp => new RegExp(`^(?:\\*|${value}(?:-${value})?)(?:/\\d+)?$`, 'i');
const NUMBER = String.raw`\d{1,2}`;
const PARTS = [part(NUMBER), part(NUMBER), part(NUMBER), part(`(?:${NUMBER}|${MONTHS})`), part(`(?:${NUMBER}|${DAYS})`)];
const NAMES = ['minute', 'hour', 'day of the month', 'month', 'day of the week'];
const DAY_MS = 86_400_000;
/** Feb 29 on a given day of the week comes every 28 years, and once every 40 around the turn of most centuries. */
const FARTHEST_YEARS = 41;

/** A schedule of five fields, whose times are read off a clock on the wall: what such a clock shows is a `Date` in UTC here. */
export interface WallSchedule {
  /** The first minute after this one that fits; undefined when there is none. */
  next(after: Date): Date | undefined;
}

/** @returns what is wrong with it, in words for whoever wrote it */
export function readSchedule(written: string): WallSchedule | string {
  if (written.length > LONGEST) return `must not be longer than ${LONGEST} characters`;
  const fields = written.trim().split(/\s+/);
  if (fields.length !== FIELDS) return `must have five fields (${NAMES.join(', ')}), and has ${written.trim() === '' ? 0 : fields.length}`;
  for (const [n, field] of fields.entries())
    for (const each of field.split(','))
      if (!PARTS[n]!.test(each)) return `has "${each.slice(0, 40)}" as ${NAMES[n]}: numbers, names, ranges, lists and steps are accepted`;
  const [minute, hour, dayOfMonth, month, dayOfWeek] = fields as [string, string, string, string, string];
  try {
    // Both days have to fit. The library would take either, so it is asked for the one and the other is looked at.
    const both = dayOfMonth !== '*' && dayOfWeek !== '*';
    parse([minute, hour, dayOfMonth, month, '*']);
    const asked = both ? [minute, hour, '*', month, dayOfWeek] : fields;
    const days = both ? new Set(parse(['0', '0', dayOfMonth, '*', '*']).fields.dayOfMonth.values.map(Number)) : undefined;
    parse(asked);
    const schedule = { next: (after: Date) => nextOf(asked, days, after) };
    return schedule.next(new Date('2026-01-01T00:00:00Z')) === undefined ? 'never comes: there is no such day' : schedule;
  } catch (error) {
    return `cannot be read: ${error instanceof Error ? error.message : String(error)}`;
  }
}

function nextOf(fields: readonly string[], days: ReadonlySet<number> | undefined, after: Date): Date | undefined {
  const limit = after.getTime() + FARTHEST_YEARS * 366 * DAY_MS;
  let from = after;
  for (;;) {
    const found = parse(fields, from).next().toDate();
    if (found.getTime() > limit) return undefined;
    if (days === undefined || days.has(found.getUTCDate())) return found;
    from = new Date(Math.floor(found.getTime() / DAY_MS) * DAY_MS + DAY_MS - 1);
  }
}

/** In UTC, where no hour is left out and none comes twice. */
function parse(fields: readonly string[], currentDate = new Date(0)): CronExpression {
  return CronExpressionParser.parse(fields.join(' '), { tz: 'UTC', currentDate });
}
