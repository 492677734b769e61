import { z } from 'zod';
import { contract, contractName } from '../registry.js';
import { dateTime, int64, seq } from '../scalars.js';
import { WorkflowEventProjection } from '../workflows.schemas.js';
import './all.js';
import { knownEvents, type EventDefinition } from './define.js';

/**
 * The shapes in which events travel. The loose envelopes and the typed unions describe the same JSON: a union is the known
 * kinds, one component each and told apart by `type`, or a custom kind. Two steps, because a generated client decides
 * by the discriminator alone and has no place for a value that it does not map.
 */
const fields = {
  seq,
  ts: dateTime,
  actor: z.string(),
  subject: z.string().optional(),
  message: z.string().optional(),
  run_id: z.string().optional(),
  session_id: z.string().optional(),
  step_id: z.string().optional(),
  depends_on_step_ids: z.array(z.string()).optional(),
  /** Streams only: what the event means for a workflow's graph. */
  workflow: WorkflowEventProjection.optional(),
};
const tag = {
  /** The city that the event is about, or `__supervisor__`. */
  city: z.string(),
  /** The stream that `seq` counts in: the city's, or `__supervisor__` also for events that are about a city. Tell events apart by (`stream`, `seq`). */
  stream: z.string(),
};

export interface EventEnvelope {
  readonly seq: number;
  readonly ts: string;
  readonly type: string;
  readonly actor: string;
  readonly subject?: string | undefined;
  readonly message?: string | undefined;
  readonly payload: unknown;
  readonly run_id?: string | undefined;
  readonly session_id?: string | undefined;
  readonly step_id?: string | undefined;
  readonly depends_on_step_ids?: readonly string[] | undefined;
  readonly workflow?: z.infer<typeof WorkflowEventProjection> | undefined;
}
export interface TaggedEventEnvelope extends EventEnvelope {
  readonly city: string;
  readonly stream: string;
}

const definitions = [...knownEvents().values()].sort((a, b) => (a.type < b.type ? -1 : 1));
const knownTypes = definitions.map((d) => d.type);

/** Payloads of custom kinds: any JSON object. */
const CustomEventPayload = contract('CustomEventPayload', z.record(z.string(), z.unknown()));

/** `session.drain_acked` -> `SessionDrainAcked`: how a kind's envelope components are named. */
export function kindName(type: string): string {
  return type
    .split(/[._]/)
    .map((word) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`)
    .join('');
}

export interface Discriminator {
  readonly propertyName: string;
  readonly mapping: Readonly<Record<string, string>>;
}
const maps: Record<string, Discriminator> = {};

/** Discriminators by component name, for the OpenAPI document: JSON Schema has no word for them. */
export const discriminators: Readonly<Record<string, Discriminator>> = maps;

type Extra = typeof tag | Record<never, never>;

function typedUnion<E extends EventEnvelope>(name: string, extra: Extra): z.ZodType<E> {
  const mapping: Record<string, string> = {};
  const variant = (definition: EventDefinition): z.ZodType => {
    const component = `${name}${kindName(definition.type)}`;
    mapping[definition.type] = `#/components/schemas/${component}`;
    return contract(component, z.strictObject({ ...fields, ...extra, type: z.literal(definition.type), payload: definition.payload }));
  };
  const known = new Set(knownTypes);
  const customType = z
    .string()
    .refine((type) => !known.has(type), 'a known kind')
    .meta({ not: { enum: knownTypes } });
  const custom = contract(`${name}Custom`, z.strictObject({ ...fields, ...extra, type: customType, payload: CustomEventPayload }));
  const described = contract(`${name}Known`, z.xor(definitions.map(variant)));
  maps[`${name}Known`] = { propertyName: 'type', mapping };
  const union = contract(name, z.union([described, custom]));
  return union as unknown as z.ZodType<E>;
}

const payloads = [...new Map(definitions.map((d) => [contractName(d.payload), d.payload])).values()];

export const EventPayload = contract('EventPayload', z.union([...payloads, CustomEventPayload]));
export const EventStreamEnvelope = contract('EventStreamEnvelope', z.strictObject({ ...fields, type: z.string(), payload: EventPayload }));
export const TaggedEventStreamEnvelope = contract(
  'TaggedEventStreamEnvelope',
  z.strictObject({ ...fields, ...tag, type: z.string(), payload: EventPayload }),
);
export const TypedEventStreamEnvelope = typedUnion<EventEnvelope>('TypedEventStreamEnvelope', {});
export const TypedTaggedEventStreamEnvelope = typedUnion<TaggedEventEnvelope>('TypedTaggedEventStreamEnvelope', tag);

/** Other names of the typed unions, as the items of the lists. */
export const WireEvent = contract(
  'WireEvent',
  z.lazy(() => TypedEventStreamEnvelope),
);
export const WireTaggedEvent = contract(
  'WireTaggedEvent',
  z.lazy(() => TypedTaggedEventStreamEnvelope),
);

export const HeartbeatEvent = contract('HeartbeatEvent', z.strictObject({ timestamp: z.string() }));

export const ListBodyWireEvent = contract(
  'ListBodyWireEvent',
  z.strictObject({
    items: z.array(WireEvent),
    next_cursor: z.string().optional(),
    partial: z.boolean().optional(),
    partial_errors: z.array(z.string()).optional(),
    total: int64,
    total_is_estimate: z.boolean().optional(),
  }),
);
export const SupervisorEventListOutputBody = contract(
  'SupervisorEventListOutputBody',
  z.strictObject({
    event_cursor: z.string(),
    items: z.array(WireTaggedEvent),
    next_cursor: z.string().optional(),
    total: int64,
    total_is_estimate: z.boolean().optional(),
  }),
);
