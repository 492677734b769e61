import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { loading, MissingPart, renew } from './part.js';

const NAMES = ['fetch', 'sessionStorage', 'location'] as const;
const before = NAMES.map((name) => [name, Object.getOwnPropertyDescriptor(globalThis, name)] as const);

describe('a part of the page that cannot be loaded', () => {
  let reloads = 0;
  const browser = (answer: () => Promise<Response>): void => {
    const kept = new Map<string, string>();
    const values = {
      fetch: answer,
      sessionStorage: {
        getItem: (name: string) => kept.get(name) ?? null,
        setItem: (name: string, value: string) => kept.set(name, value),
      },
      location: { reload: () => reloads++ },
    };
    for (const name of NAMES) Object.defineProperty(globalThis, name, { value: values[name], configurable: true });
  };
  beforeEach(() => {
    reloads = 0;
  });
  afterEach(() => {
    for (const [name, descriptor] of before) {
      if (descriptor === undefined) delete (globalThis as Record<string, unknown>)[name];
      else Object.defineProperty(globalThis, name, descriptor);
    }
  });

  it('fails with an error for which the router does not load the page anew', async () => {
    browser(async () => new Response());
    const failed = loading(() => Promise.reject(new TypeError('Failed to fetch dynamically imported module: /ui/assets/gone.js')));
    const error = await failed().catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(MissingPart);
    expect((error as Error).message).not.toContain('dynamically imported');
    expect(reloads).toBe(0);
  });

  it('has the page loaded anew once, and then only when somebody asks for it', async () => {
    browser(async () => new Response());
    await renew(false);
    await renew(false);
    expect(reloads).toBe(1);
    await renew(true);
    expect(reloads).toBe(2);
  });

  it('leaves the page where it is while the service does not answer', async () => {
    browser(() => Promise.reject(new TypeError('Failed to fetch')));
    await renew(false);
    await renew(true);
    browser(async () => new Response('', { status: 502 }));
    await renew(true);
    expect(reloads).toBe(0);
  });
});
