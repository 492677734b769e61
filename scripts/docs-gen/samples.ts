import { readdirSync, readFileSync } from 'node:fs';
import { parse } from 'smol-toml';
import { AGENT_SAMPLE, CITY_SAMPLE, PACK_SAMPLE } from '../../src/modules/files/composition/formats/testing/samples.js';
import { ORDER_SAMPLE, SITE_SAMPLE } from '../../src/modules/files/composition/formats/testing/small-samples.js';

const FORMULAS = new URL('../../src/modules/orchestration/formulas/compile/testing/corpus/', import.meta.url);

const MCP = [
  'name = "files"\ndescription = "Reads files"\ncommand = "./server.sh"\nargs = ["--read-only"]\nenv = { TOKEN = "$FILES_TOKEN" }',
  'name = "search"\nurl = "https://tools.example.org/mcp"\ntype = "http"\nheaders = { Authorization = "Bearer $SEARCH_TOKEN" }',
];
/** Keys of orders that its sample cannot have beside the others. */
const ORDER = '[order]\nformula = "ship"\ntrigger = "cron"\nschedule = "0 6 * * *"\npool = "workers"';
/** Keys that the formulas of the corpus do not use. */
const FORMULA = [
  '[catalog]\nname = "Release"\ndescription = "Releases a version"',
  '[[steps]]\nnotes = "Look at the log first"\ndescription_file = "build.md"\nassignee = "mayor"\ntags = ["release"]\nmetadata = { team = "north" }\ndrain = { item = { single_lane = true }, continuation_group = "cargo", on_item_failure = "continue" }',
  '[compose]\nbond_points = [{ id = "after-build", description = "More checks", after_step = "build", before_step = "ship", parallel = true }]',
];

/** Files whose values are examples of their keys; the first that has a key counts. */
export function samplesOf(name: string): unknown[] {
  return textsOf(name).map((text) => parse(text));
}

function textsOf(name: string): string[] {
  switch (name) {
    case 'city.toml':
      return [CITY_SAMPLE];
    case 'pack.toml':
      return [PACK_SAMPLE];
    case 'agent.toml':
      return [AGENT_SAMPLE];
    case 'order.toml':
      return [ORDER_SAMPLE, ORDER];
    case 'site.toml':
      return [SITE_SAMPLE];
    case 'mcp.toml':
      return MCP;
    case 'formula.toml':
      return [...formulas(), ...FORMULA];
    default:
      throw new Error(`no sample of ${name}`);
  }
}

/** Formulas of the corpus that are meant to be good. */
function formulas(): string[] {
  return readdirSync(FORMULAS)
    .sort()
    .map((file) => readFileSync(new URL(file, FORMULAS), 'utf8'))
    .filter((text) => !text.includes('-- issues --'))
    .flatMap((text) => [...text.matchAll(/^-- formulas\/\S+\.toml --\n([\s\S]*?)(?=^-- )/gm)].map(([, body]) => body!));
}
