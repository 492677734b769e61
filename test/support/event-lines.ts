interface EventLine {
  readonly seq: number;
  readonly type: string;
  readonly subject?: string;
  readonly payload: Readonly<Record<string, unknown>>;
}

/** What `svc events --city` has printed, whole lines only. */
export function eventLines(printed: string): EventLine[] {
  return printed
    .slice(0, printed.lastIndexOf('\n') + 1)
    .split('\n')
    .flatMap((line) => (line.startsWith('{') ? [JSON.parse(line) as EventLine] : []));
}

/** The numbers that are missing, come twice or come in another order: none of a city whose log was read from its beginning. */
export function irregular(events: readonly EventLine[]): number[] {
  return events.flatMap(({ seq }, i) => (seq === i + 1 ? [] : [seq]));
}
