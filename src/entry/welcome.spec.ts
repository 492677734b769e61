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

it('shows addresses that can be called, and nothing that would be refused', () => {
  const said = jest.spyOn(console, 'log').mockImplementation(() => undefined);
  const shown = (env: Record<string, string>, url: string): string => {
    welcome(loadConfig({ SVC_DATA_DIR: dataDir, ...env }, '/'), url, '/', { kind: 'none', why: undefined });
    return String(said.mock.lastCall![0]);
  };
  const keys = { SVC_HOST: '0.0.0.0', SVC_AUTH: 'keys' };
  expect(shown({ ...keys, SVC_API_URL: 'https://svc.example.com:8372/' }, 'https://0.0.0.0:8372')).toMatch(
    /Page {4}https:\/\/svc\.example\.com:8372\/ui\/\n[^]* city create /,
  );
  expect(shown(keys, 'http://0.0.0.0:8372')).toContain('  Page    http://127.0.0.1:8372/ui/\n');
  expect(shown({ ...keys, SVC_HOST: '::' }, 'http://[::]:8372')).toContain('  API     http://[::1]:8372\n');
  const open = shown({ SVC_HOST: '0.0.0.0' }, 'http://0.0.0.0:8372');
  expect(open).toContain('set SVC_AUTH=keys to allow changes');
  expect(open).not.toContain('city create');
});
