import type { AnyValue, Attributes, Logger } from '@opentelemetry/api';
import { currentSpan } from './spans.js';
import { contextOf } from './tracer.js';

const SEVERITIES: Readonly<Record<number, readonly [number: number, text: string]>> = {
  10: [1, 'TRACE'],
  20: [5, 'DEBUG'],
  30: [9, 'INFO'],
  40: [13, 'WARN'],
  50: [17, 'ERROR'],
  60: [21, 'FATAL'],
};

/** Sends a line of the log as it is written on stderr, where what is secret has left it already. */
export function sendLine(to: Logger, line: string): void {
  const { level, time, msg, trace_id: _, ...rest } = JSON.parse(line) as Record<string, AnyValue>;
  const [severityNumber, severityText] = SEVERITIES[Number(level)] ?? [0, 'UNSPECIFIED'];
  to.emit({
    severityNumber,
    severityText,
    timestamp: Number(time),
    body: msg ?? null,
    attributes: rest as Attributes,
    context: contextOf(currentSpan()),
  });
}
