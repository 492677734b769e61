import { CronExpressionParser, type CronFieldCollection } from 'cron-parser';

const FIELDS = 5;
const LONGEST = 200;
/** Figures, names of months and days, and what joins them: nothing of what other dialects have beside that. */
const MONTHS = 'jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec';
const DAYS = 'sun|mon|tue|wed|thu|fri|sat';
const part = (value: string): RegExp => new RegExp(`^(?:\\*|${value}(?:-${value})?)(?:/\\d+)?$`, 'i');
const NUMBER = String.raw`\d{1,2}`;
const PARTS = [part(NUMBER), part(NUMBER), part(NUMBER), part(`(?:${NUMBER}|${MONTHS})`), part(`(?:${NUMBER}|${DAYS})`)];
const NAMES = ['minute', 'hour', 'day of the month', 'month', 'day of the week'];
const MINUTE_MS = 60_000;
/** The longest that each month is. */
const LENGTHS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
/** Feb 29 on a given day of the week comes every 28 years, and once every 40 around the turn of most centuries. */
const FARTHEST_MONTHS = 41 * 12;

/** A schedule of five fields, whose times are read off a clock on the wall: what such a clock shows is a `Date` in UTC here. */
export interface WallSchedule {
  /** The first minute after this one that fits; undefined when there is none. */
  next(after: Date): Date | undefined;
}

/** What fits, of each field, the lowest first; months count from 0, as those of a `Date` do. */
interface Fitting {
  readonly minutes: readonly number[];
  readonly hours: readonly number[];
  readonly days: readonly number[];
  readonly months: ReadonlySet<number>;
  readonly weekdays: ReadonlySet<number>;
}

/** What has been read lately: a schedule is asked for its times again and again. */
const lately = new Map<string, WallSchedule | string>();
const KEPT = 500;

/** @returns what is wrong with it, in words for whoever wrote it */
export function readSchedule(written: string): WallSchedule | string {
  if (written.length > LONGEST) return `must not be longer than ${LONGEST} characters`;
  let found = lately.get(written);
  if (found === undefined) {
    lately.set(written, (found = read(written)));
    if (lately.size > KEPT) lately.delete(lately.keys().next().value!);
  }
  return found;
}

function read(written: string): WallSchedule | string {
  const fields = written.trim().split(/\s+/);
  if (fields.length !== FIELDS) return `must have five fields (${NAMES.join(', ')}), and has ${written.trim() === '' ? 0 : fields.length}`;
  for (const [n, field] of fields.entries())
    for (const each of field.split(','))
      if (!PARTS[n]!.test(each)) return `has "${each.slice(0, 40)}" as ${NAMES[n]}: numbers, names, ranges, lists and steps are accepted`;
  const [minute, hour, dayOfMonth, month, dayOfWeek] = fields as [string, string, string, string, string];
  try {
    // Both days have to fit. The library would take either, and look for it day by day: so it only reads what the fields say.
    const dated = parse([minute, hour, dayOfMonth, month, '*']);
    const weekly = parse(['0', '0', '*', '*', dayOfWeek]);
    const fitting: Fitting = {
      minutes: dated.minute.values,
      hours: dated.hour.values,
      days: numbers(dated.dayOfMonth.values),
      months: new Set(numbers(dated.month.values).map((value) => value - 1)),
      weekdays: new Set(numbers(weekly.dayOfWeek.values).map((value) => value % 7)),
    };
    // A day that any year has comes on each day of the week.
    const comes = [...fitting.months].some((each) => fitting.days[0]! <= LENGTHS[each]!);
    return comes ? { next: (after) => nextOf(fitting, after) } : 'never comes: there is no such day';
  } catch (error) {
    return `cannot be read: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/** Month by month, of which it looks only at those that fit: a few hundred steps where it takes longest. */
function nextOf({ minutes, hours, days, months, weekdays }: Fitting, after: Date): Date | undefined {
  const from = new Date((Math.floor(after.getTime() / MINUTE_MS) + 1) * MINUTE_MS);
  const today = Date.UTC(from.getUTCFullYear(), from.getUTCMonth(), from.getUTCDate());
  for (let n = 0; n < FARTHEST_MONTHS; n++) {
    const first = new Date(Date.UTC(from.getUTCFullYear(), from.getUTCMonth() + n, 1));
    const [year, month] = [first.getUTCFullYear(), first.getUTCMonth()];
    if (!months.has(month)) continue;
    for (const day of days) {
      const at = new Date(Date.UTC(year, month, day));
      if (at.getUTCMonth() !== month) break;
      if (at.getTime() < today || !weekdays.has(at.getUTCDay())) continue;
      const minute = at.getTime() > today ? hours[0]! * 60 + minutes[0]! : timeFrom(minutes, hours, from);
      if (minute !== undefined) return new Date(at.getTime() + minute * MINUTE_MS);
    }
  }
  return undefined;
}

/** The first time of that day which has not passed, in minutes; undefined when all have. */
function timeFrom(minutes: readonly number[], hours: readonly number[], from: Date): number | undefined {
  const [hour, minute] = [from.getUTCHours(), from.getUTCMinutes()];
  const inHour = hours.includes(hour) ? minutes.find((value) => value >= minute) : undefined;
  if (inHour !== undefined) return hour * 60 + inHour;
  const later = hours.find((value) => value > hour);
  return later === undefined ? undefined : later * 60 + minutes[0]!;
}

function parse(fields: readonly string[]): CronFieldCollection {
  return CronExpressionParser.parse(fields.join(' '), { tz: 'UTC', currentDate: new Date(0) }).fields;
}

/** The dialect of the library has letters beside them, which no field here may have. */
const numbers = (values: readonly (number | string)[]): number[] => values.map(Number);
