import { execFileSync } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** Runs once before the scenarios: they use what `npm start` builds, so it has to be what the sources say. */
export default function globalSetup() {
  const built = statSync(join(root, 'dist/src/entry/serve.js'), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const newer = ['src', 'db'].some((from) =>
    readdirSync(join(root, from), { recursive: true }).some((file) => statSync(join(root, from, file)).mtimeMs > built),
  );
  if (newer) execFileSync('npm', ['run', '-s', 'build'], { cwd: root, stdio: 'inherit' });
}
