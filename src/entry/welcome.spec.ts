import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../platform/config/config.js';
import { welcome } from './welcome.js';

let dataDir: string;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'svc-welcome-'));
});
afterEach(() => {
  jest.restoreAllMocks();
  rmSync(dataDir, { recursive: true });
});

it('names the file of the first key, and says when it is lost', () => {
  const said = jest.spyOn(console, 'log').mockImplementation(() => undefined);
  const config = loadConfig({ SVC_AUTH: 'keys', SVC_DATA_DIR: dataDir }, '/');
  const line = (): string | undefined => {
    welcome(config, 'http://127.0.0.1:8372', '/', { kind: 'none', why: undefined });
    return /^ {2}Key {5}(.*)$/m.exec(String(said.mock.lastCall![0]))?.[1];
  };
  const file = join(dataDir, 'admin.key');
  expect(line()).toBe(`${file} is not there any more; docs/how-to/keys.md says how to make another`);
  writeFileSync(file, 'svc_x\n');
  expect(line()).toBe(file);
});
