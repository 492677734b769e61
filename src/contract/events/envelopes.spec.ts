import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { contractRegistry } from '../registry.js';
import { knownEvents } from './define.js';
import {
  discriminators,
  EventStreamEnvelope,
  kindName,
  TaggedEventStreamEnvelope,
  TypedEventStreamEnvelope,
  TypedTaggedEventStreamEnvelope,
} from './envelopes.js';

const anEvent = {
  seq: 1,
  ts: '2026-01-01T00:00:00.123456Z',
  type: 'city.created',
  actor: 'api',
  payload: { name: 'alpha', path: '/alpha' },
};
const fits = (schema: z.ZodType, value: unknown): boolean => schema.safeParse(value).success;

describe('event envelopes', () => {
  it('have one component a known kind, told apart by type', () => {
    const components = (z.toJSONSchema(contractRegistry, { uri: (id) => id }) as { schemas: Record<string, unknown> }).schemas;
    for (const union of ['TypedEventStreamEnvelope', 'TypedTaggedEventStreamEnvelope']) {
      const { propertyName, mapping } = discriminators[`${union}Known`]!;
      expect(propertyName).toBe('type');
      expect(Object.keys(mapping).sort()).toEqual([...knownEvents().keys()].sort());
      for (const [type, ref] of Object.entries(mapping)) {
        expect(ref).toBe(`#/components/schemas/${union}${kindName(type)}`);
        expect(components).toHaveProperty(`${union}${kindName(type)}`);
      }
      expect(components).toHaveProperty(`${union}Custom`);
    }
  });

  it('fit known kinds with their payload and custom kinds with any object', () => {
    for (const schema of [EventStreamEnvelope, TypedEventStreamEnvelope]) {
      expect(fits(schema, anEvent)).toBe(true);
      expect(fits(schema, { ...anEvent, type: 'my.kind', payload: { any: ['thing'] } })).toBe(true);
      expect(fits(schema, { ...anEvent, city: 'alpha' })).toBe(false);
    }
    for (const schema of [TaggedEventStreamEnvelope, TypedTaggedEventStreamEnvelope]) {
      expect(fits(schema, { ...anEvent, city: 'alpha', stream: 'alpha' })).toBe(true);
      expect(fits(schema, { ...anEvent, city: 'alpha' })).toBe(false);
      expect(fits(schema, anEvent)).toBe(false);
    }
    expect(fits(TypedEventStreamEnvelope, { ...anEvent, payload: {} })).toBe(false);
    expect(fits(TypedEventStreamEnvelope, { ...anEvent, type: 'my.kind', payload: 1 })).toBe(false);
  });
});
