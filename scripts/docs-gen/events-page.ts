import { z } from 'zod';
import '../../src/contract/events/all.js';
import { knownEvents } from '../../src/contract/events/define.js';
import { contractName, contractRegistry } from '../../src/contract/registry.js';
import { code, GENERATED, page, table } from './markdown.js';

/** Every known kind of event with the members of its payload. */
export function eventsPage(): string {
  const events = [...knownEvents().values()].sort((a, b) => (a.type < b.type ? -1 : 1));
  return page(
    GENERATED,
    '# Events',
    'Every change of a city is an event on its stream. The supervisor has a stream of its own. Each event has `seq`, `ts`, `type`, `actor`, ' +
      'mostly `subject`, and the `payload` below. [How events work](../explanation/events.md) explains streams and positions; [this schema](/schemas/events.json) describes the lines that `svc events` prints.',
    'You can emit events of your own with `svc event emit`. Their type is a name with a dot, such as `build.done`, and they carry any JSON object.',
    ...events.map(({ type, about, payload }) =>
      [`## ${type}`, about, contractRegistry.get(payload)?.description ?? '', membersOf(payload)]
        .filter((part) => part !== '')
        .join('\n\n'),
    ),
  );
}

function membersOf(payload: z.ZodType): string {
  if (!(payload instanceof z.ZodObject)) return `Payload: ${code(contractName(payload) ?? 'object')}.`;
  const members = Object.entries(payload.shape as Record<string, z.ZodType>);
  if (members.length === 0) return 'The payload is empty: all is in the envelope.';
  return table(
    ['Member', 'Type', 'About'],
    members.map(([name, member]) => [
      code(name),
      typeOf(member),
      [isOptional(member) ? 'May be absent.' : '', aboutOf(member)].filter((part) => part !== '').join(' '),
    ]),
  );
}

const isOptional = (schema: z.ZodType): boolean => schema instanceof z.ZodOptional;

function bare(schema: z.ZodType): z.ZodType {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) return bare(schema.unwrap() as z.ZodType);
  return schema;
}

const aboutOf = (schema: z.ZodType): string => schema.meta()?.description ?? bare(schema).meta()?.description ?? '';

function typeOf(schema: z.ZodType): string {
  const inner = bare(schema);
  const name = contractName(inner);
  if (name !== undefined) return code(name);
  if (inner instanceof z.ZodEnum) return inner.options.map((one) => code(String(one))).join(', ');
  if (inner instanceof z.ZodArray) return `list of ${typeOf(inner.element as z.ZodType)}`;
  if (inner instanceof z.ZodString || inner instanceof z.ZodISODateTime) return inner instanceof z.ZodISODateTime ? 'time' : 'text';
  if (inner instanceof z.ZodNumber) return 'number';
  if (inner instanceof z.ZodBoolean) return '`true` or `false`';
  return 'object';
}
