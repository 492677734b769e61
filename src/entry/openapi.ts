import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import 'reflect-metadata';
import { loadConfig } from '../platform/config/config.js';
import { Failpoints } from '../platform/failpoints/failpoints.js';
import { AppLogger, createLogger } from '../platform/logging/logger.js';
import { canonicalJson } from '../platform/openapi/canonical.js';
import { previewDocument } from '../platform/openapi/document.js';
import { RootModule } from './root.module.js';

/** Writes the contract: `openapi.js [file]`, standard output without a file. The database named here is never connected to. */
const databaseUrl = 'postgres://nobody@localhost/none';
const config = loadConfig({ SVC_ROLE: 'api', SVC_DATABASE_URL: databaseUrl }, tmpdir());
const root = RootModule.forRole(config, databaseUrl, new AppLogger(createLogger('silent')), new Failpoints());
const text = canonicalJson(await previewDocument(root));
const file = process.argv[2];
if (file === undefined) process.stdout.write(text);
else await writeFile(file, text);
