import { describe, expect, it } from '@jest/globals';
import { lackOf, limitsOf, RIGHTS } from './may.js';

describe('what a key is limited to', () => {
  it('is said by what it may, and where', () => {
    expect(limitsOf({ rights: [], cities: null })).toBe('reads only');
    expect(limitsOf({ rights: ['operate'], cities: ['harbor', 'quay'] })).toBe('may operate in harbor, quay');
    expect(limitsOf({ rights: RIGHTS, cities: ['harbor'] })).toBe('in harbor');
    expect(limitsOf({ rights: RIGHTS, cities: [] })).toBe('in no city');
  });

  it('is nothing for one that may all', () => {
    expect(limitsOf({ rights: RIGHTS, cities: null })).toBeUndefined();
  });
});

describe('what a key lacks for what it is asked for', () => {
  const all = { rights: RIGHTS, cities: null };

  it('is the right that an operation needs', () => {
    const some = { rights: ['operate'], cities: ['harbor'] };
    expect(lackOf(some, ['operate'])).toBeUndefined();
    expect(lackOf(some, ['operate', 'commands'])).toBe('this key lacks the right “commands”');
    expect(lackOf(all, RIGHTS)).toBeUndefined();
  });

  it('is every city, where it is limited to some', () => {
    expect(lackOf({ rights: RIGHTS, cities: ['harbor'] }, ['all-cities'])).toBe('this key is limited to cities');
    expect(lackOf({ rights: [], cities: null }, ['all-cities'])).toBeUndefined();
  });

  it('is any right that it has not, and every city, where it is to administer', () => {
    expect(lackOf({ rights: RIGHTS, cities: ['harbor'] }, ['administer'])).toBe('this key is limited to cities');
    expect(lackOf({ rights: RIGHTS.filter((right) => right !== 'audit'), cities: null }, ['administer'])).toBe(
      'this key lacks the right “audit”',
    );
    expect(lackOf(all, ['administer'])).toBeUndefined();
  });
});
