import type { LoggedEvent } from '../api/types.js';
import type { Lane, Span, SpanTone } from './lanes.js';

interface Step {
  readonly id: string;
  readonly title: string;
  readonly status: string;
}

const END: Readonly<Record<string, SpanTone>> = { completed: 'good', failed: 'bad', canceled: 'quiet', skipped: 'quiet' };

/** A lane for each step of which the log knows something: from when it waits, from when it is worked on, until it ends. In the order in which they begin. */
export function stepLanes(steps: readonly Step[], events: readonly LoggedEvent[]): Lane[] {
  const times = new Map<string, { defined?: number; started?: number; ended?: number }>();
  for (const { type, ts, step_id, subject } of events) {
    const id = step_id ?? subject;
    if (id === undefined) continue;
    const at = new Date(ts).getTime();
    const known = times.get(id) ?? {};
    if (type === 'execution.step_defined') known.defined ??= at;
    // Whoever takes it up again goes on with it.
    else if (type === 'execution.step_started') known.started ??= at;
    else if (type === 'execution.step_completed') known.ended = at;
    times.set(id, known);
  }
  const lanes = steps.flatMap((step) => {
    const known = times.get(step.id);
    if (known === undefined) return [];
    const { defined, started, ended } = known;
    const spans: Span[] = [];
    if (defined !== undefined && (started ?? ended) !== defined)
      spans.push({
        from: defined,
        to: started ?? ended,
        label: started === undefined && ended !== undefined ? step.status : 'waits',
        tone: 'quiet',
      });
    if (started !== undefined)
      spans.push({
        from: started,
        to: ended,
        label: ended === undefined ? 'is worked on' : step.status,
        tone: ended === undefined ? 'accent' : (END[step.status] ?? 'good'),
      });
    return spans.length === 0 ? [] : [{ name: step.title, spans, first: spans[0]!.from }];
  });
  return lanes.sort((a, b) => a.first - b.first).map(({ name, spans }) => ({ name, spans }));
}
