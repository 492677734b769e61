import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** Runs once before the scenarios: they use what `npm start` builds, so it has to be what the sources say. */
export default function globalSetup() {
  execFileSync(process.execPath, [fileURLToPath(new URL('../../scripts/build.mjs', import.meta.url))], { stdio: 'inherit' });
}
