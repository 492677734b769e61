/** What was counted in buckets of time, made into what a plot draws. Knows neither React nor a browser. */
export interface Point {
  readonly at: string;
  /** Which of those that are told apart. */
  readonly of?: string | undefined;
  /** All that are not told apart. */
  readonly others?: boolean | undefined;
}

export interface Bucket {
  readonly at: number;
  /** By the place of the name in `names`. */
  readonly values: readonly number[];
  readonly sum: number;
}

export interface Plotted {
  readonly names: readonly string[];
  readonly buckets: readonly Bucket[];
  readonly most: number;
}

export const OTHERS = 'all others';
/** More colours than these nobody tells apart. */
const MOST_NAMES = 6;

export interface Stretch {
  readonly since: string;
  readonly until: string;
  readonly bucket_s: number;
}

/** Every bucket of the stretch, also those in which nothing was; the largest names first, the rest together. */
export function plotted<P extends Point>(points: readonly P[], { since, until, bucket_s }: Stretch, value: (point: P) => number): Plotted {
  const sums = new Map<string, number>();
  const nameOf = ({ of, others }: Point): string => (others === true ? OTHERS : (of ?? ''));
  for (const point of points) sums.set(nameOf(point), (sums.get(nameOf(point)) ?? 0) + value(point));
  const ranked = [...sums].filter(([name]) => name !== OTHERS).sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
  const rest = sums.has(OTHERS) || ranked.length > MOST_NAMES;
  const names = ranked.slice(0, rest ? MOST_NAMES - 1 : MOST_NAMES).map(([name]) => name);
  if (rest) names.push(OTHERS);
  const places = new Map(names.map((name, i) => [name, i]));
  const [from, to, width] = [Date.parse(since), Date.parse(until), bucket_s * 1000];
  const found = new Map<number, number[]>();
  for (const point of points) {
    const at = Date.parse(point.at);
    const values = found.get(at) ?? names.map(() => 0);
    const place = places.get(nameOf(point)) ?? names.length - 1;
    values[place] = (values[place] ?? 0) + value(point);
    found.set(at, values);
  }
  // Buckets may be days in which clocks change: those that are there say where they begin.
  const starts = [...found.keys()].sort((a, b) => a - b);
  const all: number[] = [];
  let next = from;
  for (const start of [...starts, to]) {
    for (; next < start - width / 2 && all.length < 5_000; next += width) all.push(next);
    if (start < to) all.push(start);
    next = Math.max(next, start + width);
  }
  const buckets = all.map((at): Bucket => {
    const values = found.get(at) ?? names.map(() => 0);
    return { at, values, sum: values.reduce((a, b) => a + b, 0) };
  });
  return { names, buckets, most: Math.max(0, ...buckets.map(({ sum }) => sum)) };
}

/** Round steps from nothing to above the largest: at most five lines. */
export function ticks(most: number): number[] {
  if (!(most > 0)) return [0];
  const rough = most / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((n) => n * power).find((n) => n >= rough)!;
  const found: number[] = [];
  for (let n = 0; found.at(-1) === undefined || found.at(-1)! < most; n++) found.push(Number((n * step).toPrecision(12)));
  return found;
}
