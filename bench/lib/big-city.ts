import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

const PACKS = 20;
const AGENTS = 25;
const FORMULAS = 15;
const PROMPT = 'Take the next piece of work, do it, say what came of it.\n'.repeat(20);

/** The files of a city of 20 packs, 500 agents and 300 formulas: path and text. */
export function bigCity(): [path: string, text: string][] {
  const files: [string, string][] = [
    ['city.toml', '[workspace]\nprovider = "loopback"\n\n[providers.loopback]\nbase = "builtin:loopback"\n'],
    ['pack.toml', `[pack]\nname = "big"\nschema = 2\n${range(PACKS, (p) => `\n[imports.p${p}]\nsource = "packs/p${p}"\n`)}`],
  ];
  for (let p = 0; p < PACKS; p++) {
    files.push([`packs/p${p}/pack.toml`, `[pack]\nname = "p${p}"\nschema = 2\nversion = "1.${p}.0"\n`]);
    for (let a = 0; a < AGENTS; a++) {
      files.push(
        [`packs/p${p}/agents/a${a}/agent.toml`, agent(p, a)],
        [`packs/p${p}/agents/a${a}/prompt.template.md`, `# a${a}\n\n${PROMPT}`],
      );
    }
    for (let f = 0; f < FORMULAS; f++) files.push([`packs/p${p}/formulas/f${p}-${f}.toml`, formula(`f${p}-${f}`)]);
  }
  return files;
}

export async function writeFiles(root: string, files: readonly (readonly [string, string])[]): Promise<void> {
  for (const [path, text] of files) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  }
}

function agent(p: number, a: number): string {
  return `description = "Agent ${a} of pack ${p}"
scope = "city"
provider = "loopback"
max_active_sessions = ${1 + (a % 5)}
idle_timeout = "30m"
wake_mode = "resume"
nudge = "Look for work."
env = { PACK = "p${p}", AGENT = "a${a}" }
`;
}

function formula(name: string): string {
  const steps = range(6, (s) => `\n[[steps]]\nid = "s${s}"\ntitle = "Step ${s} of {{goal}}"\n${s === 0 ? '' : `needs = ["s${s - 1}"]\n`}`);
  return `formula = "${name}"\ndescription = "A piece of work in six steps"\n\n[vars.goal]\ndescription = "What is to be done"\ndefault = "the change"\n${steps}`;
}

function range(n: number, each: (i: number) => string): string {
  return Array.from({ length: n }, (_, i) => each(i)).join('');
}
