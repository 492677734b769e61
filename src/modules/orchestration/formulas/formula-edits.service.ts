import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { may, type Principal } from '../../../contract/principal.js';
import { problem } from '../../../contract/problems.js';
import type { OKResponseBody } from '../../../contract/scalars.js';
import type { Expected } from '../../../platform/http/if-match.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import type { CityConfig, FormulaConfig } from '../../files/composition/city-config.js';
import { describeIssue, type Issue } from '../../files/composition/issue.js';
import { CityComposer } from '../../configuration/config/city-composer.js';
import { ConfigEditsService, type EditAnswer } from '../../configuration/config/config-edits.service.js';
import type { Draft } from '../../configuration/config/draft.js';
import { editedMeanwhile } from '../../configuration/config/edit-errors.js';
import { hashOf } from '../../configuration/config/edit-plan.js';
import { NO_FILE } from '../../configuration/config/swap.js';
import { ConfigReadsService } from '../../configuration/config/config-reads.service.js';
import { fieldsOf, refusalOf, summaryOf } from '../../configuration/config/refusals.js';
import type { Compiled } from './compile/compile.js';
import { runsCommands } from './compile/describe.js';
import { validating } from './formula-tasks.js';
import { FormulaWork } from './formula-work.js';
import { noneOfItsOwn, ownFormula } from './formulas.service.js';
import { hostOf } from './host.js';
import type { FormulaValidateOutputBody } from './formulas.schemas.js';

export interface FormulaEdit {
  readonly city: CityScope;
  readonly caller: Principal;
  readonly expected: Expected;
}

interface Checked extends Compiled {
  /** Why the files of the city cannot be composed: whether those are there that the formula names, nobody can say then. */
  readonly unusable?: readonly Issue[];
}

const NAME = /^[a-zA-Z0-9](?:[a-zA-Z0-9_-]{0,62}[a-zA-Z0-9])?$/;
/** Keys of a formula that name files. */
const NAMES_A_FILE = /(?:^|\.)(?:description_file|check\.path)$/;

/** The formulas that lie in the city's own files: looked at, written, taken away. */
@Injectable()
export class FormulaEditsService {
  constructor(
    private readonly reads: ConfigReadsService,
    private readonly edits: ConfigEditsService,
    private readonly composer: CityComposer,
    private readonly work: FormulaWork,
  ) {}

  async validate(city: CityScope, name: string, text: string): Promise<FormulaValidateOutputBody> {
    const { config } = await this.reads.current(city);
    const { issues: own, unusable = [] } = await this.#checked(city, config, name, text);
    const issues = [...own, ...unusable];
    return issues.length === 0 ? { valid: true } : { valid: false, errors: issues.map(describeIssue) };
  }

  /** @throws ProblemError invalid_request with all that is wrong; forbidden for a script that the key may not have run */
  save({ city, caller, expected }: FormulaEdit, name: string, text: string): Promise<EditAnswer<OKResponseBody>> {
    return this.edits.run({ city, caller, expected }, async (draft) => {
      const { formula, issues, unusable } = await this.#checked(city, draft.current, name, text);
      if (issues.length > 0)
        throw problem('invalid_request', `formula validation failed: ${summaryOf(issues)}`, { errors: fieldsOf(issues) });
      if (formula !== undefined && runsCommands(formula) && !may(caller, 'commands'))
        throw problem('forbidden', 'the API key may not say what is run (check): that needs the right "commands"');
      // The files that it names are not known to be there.
      if (unusable !== undefined) throw refusalOf(unusable, unusable);
      const own = ownFormula(draft.current, name);
      const file = own?.file ?? `formulas/${name}.toml`;
      await requireSeen(draft, file, own, expected);
      await draft.write(file, text);
      return { body: { status: 'saved' } };
    });
  }

  remove({ city, caller, expected }: FormulaEdit, name: string): Promise<EditAnswer<OKResponseBody>> {
    return this.edits.run({ city, caller, expected }, async (draft) => {
      const own = ownFormula(draft.current, name);
      if (own === undefined) throw noneOfItsOwn(name);
      await requireSeen(draft, own.file, own, expected);
      await draft.removeFile(own.file);
      return { body: { status: 'deleted' } };
    });
  }

  async #checked(city: CityScope, config: CityConfig, name: string, text: string): Promise<Checked> {
    const file = ownFormula(config, name)?.file ?? `formulas/${name}.toml`;
    const refused = (message: string): Checked => ({ issues: [{ severity: 'error', file, key: '', message } satisfies Issue] });
    if (name === 'feed') return refused('the name feed is reserved');
    if (!NAME.test(name)) return refused(`the name must match ${NAME.source}`);
    if (text.trim() === '') return refused('empty formula body');
    const sha256 = createHash('sha256').update(text).digest('hex');
    const candidate = { name, file, sha256, text };
    const asked = { rig: '', candidate, name, compiler: hostOf(config) };
    const checked = await this.work.run(city, validating, { ...asked, shelf: config });
    const others = checked.issues.filter(({ key }) => !NAMES_A_FILE.test(key));
    if (others.length === checked.issues.length) return checked;
    // A revision has the texts that its own formulas name. What this one names is in it once the files are composed with it.
    const overlay = { texts: new Map([[file, text]]), removed: new Set<string>() };
    return this.composer.compose(city, { overlay }, async (after) => {
      if (!('composed' in after)) return { ...checked, issues: others, unusable: after.errors };
      const { configText, texts } = after.composed;
      const shelf = await this.work.shelf(city, configText);
      return this.work.run(city, validating, { ...asked, shelf }, async (digests) => textsOf(texts, digests));
    });
  }
}

function textsOf(all: ReadonlyMap<string, string>, digests: readonly string[]): Map<string, string> {
  return new Map(digests.flatMap((digest) => (all.has(digest) ? [[digest, all.get(digest)!] as const] : [])));
}

/**
 * Who names a revision has seen the text that it has. What somebody has saved since belongs to none yet, and a text is replaced as a whole.
 *
 * @throws ProblemError conflict with both hashes
 */
async function requireSeen(draft: Draft, file: string, seen: FormulaConfig | undefined, expected: Expected): Promise<void> {
  if (typeof expected !== 'number') return;
  const text = await draft.text(file);
  const found = text === undefined ? NO_FILE : hashOf(text);
  const known = seen?.sha256 ?? NO_FILE;
  if (found !== known) throw editedMeanwhile(file, known, found);
}
