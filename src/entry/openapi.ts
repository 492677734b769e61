import { writeFile } from 'node:fs/promises';
import 'reflect-metadata';
import { ApiModule } from '../modules/api.module.js';
import { canonicalJson } from '../platform/openapi/canonical.js';
import { buildDocument } from '../platform/openapi/document.js';

/** Writes the contract: `openapi.js [file]`, standard output without a file. Needs no database. */
const text = canonicalJson(buildDocument(ApiModule));
const file = process.argv[2];
if (file === undefined) process.stdout.write(text);
else await writeFile(file, text);
