import { z } from 'zod';
import { contract, contractName } from '../registry.js';
import { int64 } from '../scalars.js';
import { WorkflowEventProjection } from '../workflows.schemas.js';
import './all.js';
import { knownEvents, type EventDefinition } from './define.js';

/**
 * The shapes in which events travel. The loose envelopes and the typed unions describe the same JSON: a union is the known
 * kinds, one component each and told apart by `type`, or a custom kind. Two steps, because a generated client decides
 * by the discriminator alone and has no place for a value that it does not map.
 */
const fields = {
  seq: contract('EventSeq', z.int().min(0), 'The position in its log: from 1, without gaps.'),
  ts: contract(
    'EventTime',
    z.iso.datetime({ offset: true }),
    'When it happened. RFC 3339; in UTC, but for what earlier versions have stored.',
  ),
  actor: contract('EventActor', z.string(), 'Who did it: the name of a key, of a session’s agent, or of a part of the service.'),
  subject: contract(
    'EventSubject',
    z.string(),
    'What it is about: the id or the name of a thing of the kind that the type names.',
  ).optional(),
  message: contract('EventMessage', z.string(), 'One line for people.').optional(),
  run_id: contract('EventRun', z.string(), 'The run that it belongs to.').optional(),
  session_id: contract('EventSession', z.string(), 'The session that it belongs to.').optional(),
  step_id: contract('EventStep', z.string(), 'The step of the run that it is about.').optional(),
  depends_on_step_ids: contract('EventStepNeeds', z.array(z.string()), 'The steps that this one waits for.').optional(),
  workflow: WorkflowEventProjection.optional(),
};
const tag = {
  city: contract('EventCity', z.string(), 'The city that the event is about, or `__supervisor__`.'),
  stream: contract(
    'EventStream',
    z.string(),
    'The log that `seq` counts in: that of the city, or `__supervisor__` also for events that are about a city. Tell events apart by (`stream`, `seq`).',
  ),
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
const CustomEventPayload = contract(
  'CustomEventPayload',
  z.record(z.string(), z.unknown()),
  'What a custom kind carries: any JSON object.',
);

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
    const shape = { ...fields, ...extra, type: z.literal(definition.type), payload: definition.payload };
    return contract(component, z.strictObject(shape), definition.about);
  };
  const known = new Set(knownTypes);
  const customType = z
    .string()
    .refine((type) => !known.has(type), 'a known kind')
    .meta({ not: { enum: knownTypes } });
  const custom = contract(
    `${name}Custom`,
    z.strictObject({ ...fields, ...extra, type: customType, payload: CustomEventPayload }),
    'An event of a kind of somebody’s own.',
  );
  const described = contract(`${name}Known`, z.xor(definitions.map(variant)), 'An event of a known kind; `type` says of which.');
  maps[`${name}Known`] = { propertyName: 'type', mapping };
  const union = contract(name, z.union([described, custom]), 'An event: of a known kind, or of a kind of somebody’s own.');
  return union as unknown as z.ZodType<E>;
}

const payloads = [...new Map(definitions.map((d) => [contractName(d.payload), d.payload])).values()];

export const EventPayload = contract(
  'EventPayload',
  z.union([...payloads, CustomEventPayload]),
  'What an event carries: the payload of its kind.',
);
export const EventStreamEnvelope = contract(
  'EventStreamEnvelope',
  z.strictObject({ ...fields, type: z.string(), payload: EventPayload }),
  'An event of one city, whatever its kind.',
);
export const TaggedEventStreamEnvelope = contract(
  'TaggedEventStreamEnvelope',
  z.strictObject({ ...fields, ...tag, type: z.string(), payload: EventPayload }),
  'An event with the city that it is about, whatever its kind.',
);
export const TypedEventStreamEnvelope = typedUnion<EventEnvelope>('TypedEventStreamEnvelope', {});
export const TypedTaggedEventStreamEnvelope = typedUnion<TaggedEventEnvelope>('TypedTaggedEventStreamEnvelope', tag);

/** Other names of the typed unions, as the items of the lists. */
export const WireEvent = contract(
  'WireEvent',
  z.lazy(() => TypedEventStreamEnvelope),
  'An event of one city, as lists have it.',
);
export const WireTaggedEvent = contract(
  'WireTaggedEvent',
  z.lazy(() => TypedTaggedEventStreamEnvelope),
  'An event with the city that it is about, as lists have it.',
);

export const HeartbeatEvent = contract(
  'HeartbeatEvent',
  z.strictObject({ timestamp: z.string() }),
  'A sign of life of a stream. Its id is a position that a client can resume from.',
);

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
  'A page of events of one city.',
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
  'A page of events of the supervisor and of every city.',
);
