/** Writes the committed line schema of `svc events`: `node --import ./scripts/typescript.mjs scripts/events-schema.ts`. */
import { writeFile } from 'node:fs/promises';
import { eventsLinesSchema } from '../src/contract/events-lines.js';
import { canonicalJson } from '../src/platform/openapi/canonical.js';

await writeFile(new URL('../openapi/events.schema.json', import.meta.url), canonicalJson(eventsLinesSchema('openapi.json')));
