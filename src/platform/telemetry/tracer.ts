import { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace, type Context, type Span as OtelSpan, type Tracer } from '@opentelemetry/api';
import { parseTraceParent } from '@opentelemetry/core';
import type { Span, SpanFacts, SpanMaker, SpanStart } from './spans.js';

const KINDS = { server: SpanKind.SERVER, consumer: SpanKind.CONSUMER, internal: SpanKind.INTERNAL } as const;

/** Of OpenTelemetry's tracer what this product asks of one. */
export class SpansOf implements SpanMaker {
  constructor(private readonly tracer: Tracer) {}

  start(name: string, { kind, parent, facts = {} }: SpanStart): Span {
    const span = this.tracer.startSpan(name, { kind: KINDS[kind], attributes: said(facts) }, contextOf(parent));
    return new Traced(span);
  }
}

class Traced implements Span {
  over = false;

  constructor(readonly span: OtelSpan) {}

  get traceId(): string {
    return this.span.spanContext().traceId;
  }

  get traceparent(): string {
    const { traceId, spanId, traceFlags } = this.span.spanContext();
    return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
  }

  add(facts: SpanFacts): void {
    this.span.setAttributes(said(facts));
  }

  note(what: string): void {
    this.span.addEvent(what);
  }

  fail(why: string): void {
    this.span.setStatus({ code: SpanStatusCode.ERROR }).setAttribute('error.type', why);
  }

  end(): void {
    if (this.over) return;
    this.over = true;
    this.span.end();
  }
}

/** As part of what something is done or said. */
export function contextOf(parent: Span | string | undefined): Context {
  if (parent instanceof Traced) return trace.setSpan(ROOT_CONTEXT, parent.span);
  const remote = typeof parent === 'string' ? parseTraceParent(parent) : null;
  return remote === null ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, { ...remote, isRemote: true });
}

function said(facts: SpanFacts): Record<string, string | number | boolean> {
  return Object.fromEntries(Object.entries(facts).filter((fact): fact is [string, string | number | boolean] => fact[1] !== undefined));
}
