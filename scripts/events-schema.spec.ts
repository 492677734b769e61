import { readFile } from 'node:fs/promises';
import { describe, expect, it } from '@jest/globals';
import { eventsLinesSchema } from '../src/contract/events-lines.js';
import { canonicalJson } from '../src/platform/openapi/canonical.js';

const read = (file: string): Promise<string> => readFile(`openapi/${file}`, 'utf8');

describe('openapi/events.schema.json', () => {
  it('is what the generator writes: run `npm run schemas:gen`', async () => {
    expect(await read('events.schema.json')).toBe(canonicalJson(eventsLinesSchema('openapi.json')));
  });

  it('refers to components that the document has', async () => {
    const { components } = JSON.parse(await read('openapi.json')) as { components: { schemas: Record<string, unknown> } };
    const { $defs } = eventsLinesSchema('openapi.json') as { $defs: Record<string, { $ref: string }> };
    for (const { $ref } of Object.values($defs)) expect(components.schemas).toHaveProperty([$ref.split('/').pop()!]);
  });
});
