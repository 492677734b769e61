import { Script } from 'node:vm';
import { describe, expect, it } from '@jest/globals';
import { parse as parseHost } from 'smol-toml';
import { DEEP } from './depth.js';
import { parseDuration } from '../../src/contract/duration.js';
import { NetworkRule } from '../../src/contract/network.js';
import { ProblemError } from '../../src/contract/problems.js';
import { blockingRead, queryBool, queryInt, queryList, queryText } from '../../src/contract/query.js';
import { parseReadyPlace } from '../../src/modules/work/beads/ready-token.js';
import type { CityConfig } from '../../src/modules/files/composition/city-config.js';
import { CITY_FORMAT } from '../../src/modules/files/composition/formats/city.format.js';
import { readSchedule } from '../../src/modules/files/composition/formats/cron.js';
import { FORMULA_FORMAT } from '../../src/modules/files/composition/formats/files.format.js';
import { ORDER_FORMAT } from '../../src/modules/files/composition/formats/order.format.js';
import { checkDocument } from '../../src/modules/files/composition/formats/read.js';
import { InvalidSource, parseSource } from '../../src/modules/files/composition/packs/sources.js';
import { InvalidConstraint, parseConstraint } from '../../src/modules/files/composition/packs/versions.js';
import { pageToken } from '../../src/modules/configuration/config/page.js';
import { valuesAt } from '../../src/modules/configuration/config/explained.js';
import { parseFeedToken, parseToken } from '../../src/modules/tenancy/events/page-token.js';
import { RangeFault, rangeOf } from '../../src/modules/orchestration/formulas/compile/arithmetic.js';
import { compile } from '../../src/modules/orchestration/formulas/compile/compile.js';
import { conditionOf } from '../../src/modules/orchestration/formulas/compile/condition.js';
import { fits } from '../../src/modules/orchestration/formulas/compile/glob.js';
import { TooMuch } from '../../src/modules/orchestration/formulas/compile/limits.js';
import { Pattern, PatternError } from '../../src/modules/orchestration/formulas/compile/pattern.js';
import { localsIn, namesIn, withLocals, withVars } from '../../src/modules/orchestration/formulas/compile/placeholders.js';
import { libraryOf } from '../../src/modules/orchestration/formulas/compile/testing/case.js';
import { untilOf } from '../../src/modules/orchestration/formulas/compile/until.js';
import { parsePosition } from '../../src/modules/administration/audit/audit-positions.js';
import { fill, fillLine } from '../../src/modules/sessions/launch/variables.js';
import { blocksOf } from '../../src/modules/files/composition/template-blocks.js';
import { render } from '../../src/modules/sessions/launch/prompt-template.js';
import { timesAfter } from '../../src/modules/orchestration/orders/wall-clock.js';
import { parsePlace } from '../../src/modules/work/work/page-token.js';
import { parseTarget } from '../../src/platform/config/target.js';
import { parseJson } from '../../src/platform/http/body.parser.js';
import { hostName } from '../../src/platform/http/host.js';
import { parseIfMatch } from '../../src/platform/http/if-match.js';
import { parseComposite, parseOpaque, parseSeq } from '../../src/platform/streams/cursor.js';
import { StartError } from '../../src/platform/runtime/port.js';
import { PositionSeal } from '../../src/platform/streams/position-seal.js';

/**
 * Every parser of what others write meets texts that are long, wide and deep, each of its own pieces drawn out: it answers or refuses in
 * the words that it has for that, and comes to an end. A step that grows with the square of a text takes minutes here.
 */
const LONG = 200_000;
/** Only what hangs is to meet it. */
const HANGS_MS = 20_000;

type Refusals = readonly (abstract new (...given: never[]) => Error)[];
interface Parser {
  /** What it is for, in the form that it takes. */
  readonly good: readonly string[];
  readonly parse: (text: string) => unknown;
  readonly refusals?: Refusals;
}

const patches = { agent: [], named_session: [], rigs: [], providers: [], github_pr_monitor: [] };
const EMPTY = { agents: [{ qualified_name: 'a/b' }], rigs: [], named_sessions: [], patches } as unknown as CityConfig;
const seal = new PositionSeal(Buffer.alloc(32, 7));
const problems: Refusals = [ProblemError];
const CITY = '[workspace]\nname = "a"\n[[agent]]\nname = "b"\nenv = { A = "1", "b.c" = \'\'\'x\'\'\' }\n[providers.c]\nargs = ["x", "y"]\n';
const FORMULA = 'formula = "f"\n[vars]\nv = "1"\n[[steps]]\nid = "a"\ntitle = "{{v}}"\nneeds = ["b"]\n';
const ORDER = '[order]\nexec = "true"\ntrigger = "cron"\nschedule = "* * * * *"\n';
const compiled = (step: string): unknown =>
  compile('f', libraryOf({ 'formulas/f.toml': `formula = "f"\n[[steps]]\nid = "a"\ntitle = "A"\n${step}\n` }), {
    vars: {},
    injected: {},
    strict: true,
    compiler: '2.0.0',
  });

const PARSERS: Readonly<Record<string, Parser>> = {
  'a body': { good: ['{"a":[1,-2.5e3,"\\u00e9",null,true]}', '{"a":{"b":"x"},"c":[]}'], parse: parseJson, refusals: problems },
  'a city file': { good: [CITY], parse: (text) => checkDocument(text, 'city.toml', CITY_FORMAT, []) },
  'a formula file': { good: [FORMULA], parse: (text) => checkDocument(text, 'f.toml', FORMULA_FORMAT, []) },
  'an order file': { good: [ORDER], parse: (text) => checkDocument(text, 'o.toml', ORDER_FORMAT, []) },
  'a formula': {
    good: [FORMULA],
    parse: (text) => compile('f', libraryOf({ 'formulas/f.toml': text }), { vars: {}, injected: {}, strict: true, compiler: '2.0.0' }),
  },
  'a gate': {
    good: ['"timer:5m"', '{ type = "timer", timeout = "1h" }', '{ type = "human" }'],
    parse: (text) => compiled(`gate = ${text}`),
  },
  'a template': {
    good: ['{{/* x */}}{{ define "a" }}{{ .Name }}{{ end }}{{ template "a" . }}', '{{- .Name -}}'],
    parse: (text) => [render([text], { Name: 'x' }, new Map([['a', text]])), blocksOf(text)],
  },
  'a line with variables': {
    good: ['x {{.Name}} {{ .Other }}'],
    parse: (text) => [fill(text, { Name: 'x' }), fillLine('k', text, { Name: '\n' })],
    refusals: [StartError],
  },
  'a schedule': {
    good: ['*/5 1-3,4 29 feb mon-fri', '0 0 29 2 1'],
    parse: (text) => [readSchedule(text), timesAfter(text, 'Europe/Vienna', new Date(0))],
  },
  'a duration': { good: ['1h30m', '-1.5s', '7d'], parse: parseDuration },
  'a condition': { good: ['{{v}} == "x"', '!{{v}}'], parse: conditionOf },
  'an until': {
    good: ['step.output.a.b >= 3', "children(a).count( status == 'failed' ) >= 3", "step.status == 'completed'"],
    parse: untilOf,
  },
  'a range': { good: ['1..(2+3)*4^2', '-1..5 % 3'], parse: rangeOf, refusals: [RangeFault, TooMuch] },
  'a glob': { good: ['a*b?[a-z]*[!x]'], parse: (text) => fits(text.slice(0, 2_000), 'ab'.repeat(1_000)) },
  'a pattern': { good: ['^(a|b+)*[^x-z]{2,3}\\d$'], parse: (text) => new Pattern(text), refusals: [PatternError] },
  'a placeholder': {
    good: ['{{a}} {b} {c.d.e}'],
    parse: (text) => [namesIn(text), localsIn(text), withVars(text, (name) => name), withLocals(text, (name) => name)],
    refusals: [TooMuch],
  },
  'a source of a pack': {
    good: ['https://host.example:1/owner/repo.git//folder#v1.2', 'git@host:owner/repo', 'file:///a/b', '../pack', 'builtin:core'],
    parse: parseSource,
    refusals: [InvalidSource],
  },
  'a constraint': { good: ['^1.2, <2.0.0', 'sha:0123456789ab'], parse: parseConstraint, refusals: [InvalidConstraint] },
  'a place in a configuration': {
    good: ['agents."a/b".env.X', 'rigs[0]'],
    parse: (text) => valuesAt(EMPTY, [['agents[0]', 'f', 'k']], text),
  },
  'a position': { good: ['12', '9007199254740993'], parse: (text) => parseSeq(text, 'after_seq'), refusals: problems },
  'positions of streams': { good: ['__supervisor__:1,alpha:2'], parse: (text) => parseComposite(text, 'after_cursor'), refusals: problems },
  'a sealed position': { good: [seal.sign('~1a.AQID')], parse: (text) => parseOpaque(text, 'Last-Event-ID', seal), refusals: problems },
  'a page of events': { good: ['v1:eyJrIjoic3EiLCJzIjoxfQ'], parse: (text) => parseToken(text, ['sq', 'sa']), refusals: problems },
  'a page of the feed': {
    good: [`v2:${seal.hide('{"k":"tq","t":1,"i":1,"s":1}')}`],
    parse: (text) => parseFeedToken(text, ['tq'], seal),
    refusals: problems,
  },
  'a page of ready beads': { good: ['v1:eyJrIjoicmVhZHkifQ'], parse: parseReadyPlace, refusals: problems },
  'a page of beads': { good: ['v1:eyJrIjoiYmVhZHMifQ'], parse: (text) => parsePlace('beads', text), refusals: problems },
  'a page of revisions': { good: ['12'], parse: pageToken, refusals: problems },
  'a position of the audit': { good: ['a1:AAAA'], parse: (text) => parsePosition(text, 'after', 'query.after', seal), refusals: problems },
  'entity tags': { good: ['"1", W/"2"', '*'], parse: parseIfMatch, refusals: problems },
  'a host': { good: ['localhost:80', '[::1]:80', 'user@host'], parse: hostName },
  'a target': { good: ['10.0.0.0/8', 'host:443', '[::1]:80'], parse: parseTarget },
  'a network': {
    good: ['all', 'host.example:443', '*.example.com'],
    parse: (text) => [NetworkRule.safeParse(text), NetworkRule.safeParse([text])],
  },
  'a query': {
    good: ['1', 'true', 'a, b,c', '30s'],
    parse: (text) =>
      [queryInt(), queryBool(), queryList(), queryText(), blockingRead.index, blockingRead.wait].map(
        (schema) => schema.safeParse(text).success,
      ),
  },
  "a host's own file": {
    good: ['[runner]\nvisible = [{ path = "/a" }]\n'],
    parse: (text) => parseHost(text.slice(0, 20_000)),
    refusals: [Error],
  },
};

const PAIRS = ['()', '[]', '{}', '{{}}', '""', "''", '(?:)', '{"a":}', '<>'];
const JOINTS = ['', ',', ' ', '\n', '.', ':', '/', '|', '{{', ' and ', '..', '\\'];
const ODD = ['', '\0', '\ud800', '__proto__', 'constructor', '٣', '\ufeff', '\u202e', '-0', 'NaN', '1e999', '%00'];
/** With DEEP all of them, else one of so many, and of each parser others. */
const DOSE = 5;
/** Of a text, so many of its characters are drawn out. */
const DRAWN = 24;

function* hostile(good: string): Generator<string> {
  yield* ODD;
  for (const odd of ODD) yield good + odd;
  for (const joint of JOINTS) {
    yield `${good}${joint}`.repeat(LONG / 40);
    yield joint.repeat(LONG / 2);
  }
  for (const pair of PAIRS) {
    const [open, close] = [pair.slice(0, Math.ceil(pair.length / 2)), pair.slice(Math.ceil(pair.length / 2))];
    for (const depth of [50, LONG / 4]) {
      yield open.repeat(depth) + good + close.repeat(depth);
      yield good + open.repeat(depth);
      yield good + close.repeat(depth);
    }
  }
  const step = Math.max(1, Math.floor(good.length / DRAWN));
  for (let at = 0; at < good.length; at += step) {
    yield good.slice(0, at) + good[at]!.repeat(LONG) + good.slice(at + 1);
    yield `${good.slice(0, at) + good[at]!.repeat(LONG)}\x01`;
  }
}

/** Ends what hangs, which nothing else here can. */
const within = new Script('svcFuzzed()');
function parsedInTime(parse: (text: string) => unknown, text: string): unknown {
  Object.assign(globalThis, { svcFuzzed: () => parse(text) });
  return within.runInThisContext({ timeout: HANGS_MS });
}

describe('parsers under long, wide and deep texts', () => {
  it.each(Object.keys(PARSERS))('%s', (name) => {
    const { good, parse, refusals = [] } = PARSERS[name]!;
    for (const text of good)
      for (const [n, each] of [...hostile(text)].entries()) {
        if (!DEEP && n % DOSE !== name.length % DOSE) continue;
        try {
          parsedInTime(parse, each);
        } catch (error) {
          const isRefusal = refusals.some((kind) => error instanceof kind) && !(error instanceof RangeError);
          expect({ text: each.slice(0, 200), length: each.length, error: isRefusal ? undefined : error }).toEqual({
            text: each.slice(0, 200),
            length: each.length,
            error: undefined,
          });
        }
      }
  });
});
