import { describe, expect, it } from '@jest/globals';
import { countedBy } from './counted.js';
import type { Verification } from './webhook-definition.js';

const MINUTE = 60_000;
const HMAC: Verification = { scheme: 'hmac-sha256', signatureHeader: 'x-sig', eventHeader: 'x-event', windowMs: 5 * MINUTE, networks: [] };
const STAMPED = { ...HMAC, timestampHeader: 'x-time' };
const keys = (how: Verification, headers: Record<string, string>, body = '{}'): string[] =>
  countedBy(how, { headers, body: Buffer.from(body), address: '' }).once.map(({ key }) => key);
const kept = (how: Verification, headers: Record<string, string>): number[] =>
  countedBy(how, { headers, body: Buffer.from('{}'), address: '' }).once.map(({ keptMs }) => keptMs);

describe('a delivery whose time is signed', () => {
  // Guard: the id is not signed, and neither is the kind of event.
  it('counts once by what is signed, whatever else it says', () => {
    const how = { ...STAMPED, deliveryHeader: 'x-id' };
    const [first, ...ids] = keys(how, { 'x-time': '1', 'x-id': 'a', 'x-event': 'push' });
    expect(ids).toEqual(['a']);
    expect(keys(how, { 'x-time': '1', 'x-id': 'b', 'x-event': 'tag' })).toEqual([first, 'b']);
    expect(keys(how, { 'x-time': '1', 'x-event': 'tag' })).toEqual([first]);
    expect(keys(how, { 'x-time': '1', 'x-id': 'a' }, '{ }')[0]).not.toBe(first);
  });

  it('is another one when it is sent, and signed, at another time', () => {
    expect(keys(STAMPED, { 'x-time': '1' })).not.toEqual(keys(STAMPED, { 'x-time': '2' }));
  });

  it('counts once for as long as its time is good', () => {
    expect(kept(STAMPED, { 'x-time': '1' })).toEqual([30 * MINUTE]);
    expect(kept({ ...STAMPED, windowMs: 60 * MINUTE }, { 'x-time': '1' })).toEqual([120 * MINUTE]);
    expect(kept({ ...STAMPED, windowMs: Number.MAX_VALUE }, { 'x-time': '1' })[0]).toBeLessThan(1e13);
  });
});

describe('a delivery without a time', () => {
  it('counts once by its id for a day, else by its kind and its body for half an hour', () => {
    const how = { ...HMAC, deliveryHeader: 'x-id' };
    expect([keys(how, { 'x-id': 'a' }), kept(how, { 'x-id': 'a' }), kept(how, {})]).toEqual([['a'], [24 * 60 * MINUTE], [30 * MINUTE]]);
    expect(keys(how, { 'x-event': 'push' })).not.toEqual(keys(how, { 'x-event': 'tag' }));
  });

  it('cannot pass off its id as a content', () => {
    const how = { ...HMAC, deliveryHeader: 'x-id' };
    expect(keys(how, { 'x-id': 'sha256:x' })[0]).toMatch(/^id:/);
    expect(keys(how, { 'x-id': 'x'.repeat(300) })[0]).toMatch(/^id:/);
  });
});
