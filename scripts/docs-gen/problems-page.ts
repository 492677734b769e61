import { PROBLEM_HELP } from '../../src/contract/problem-help.js';
import { PROBLEMS, type ProblemName } from '../../src/contract/problems.js';
import { code, GENERATED, page, table } from './markdown.js';

/** Every code of a problem: what it means and what to do. */
export function problemsPage(): string {
  const byCode = Map.groupBy(Object.keys(PROBLEMS) as ProblemName[], (name) => PROBLEMS[name].code);
  return page(
    GENERATED,
    '# Errors',
    'Every refusal is `application/problem+json` (RFC 9457): `type`, `title`, `status`, `detail`, `code`, mostly `errors` with the places that are wrong, and ' +
      'the header `X-SVC-Request-Id`, by which you find it in the log. Decide by `code`. Where kinds share a code, `status` and the beginning of `detail` tell them apart.',
    ...[...byCode]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, kinds]) =>
        [
          `## ${name}`,
          table(
            ['Status', 'Title', '`detail` begins with', 'It means', 'Then'],
            kinds.map((kind) => {
              const { status, title, prefix, retryAfter } = PROBLEMS[kind] as (typeof PROBLEMS)[ProblemName] & { retryAfter?: number };
              const { means, then } = PROBLEM_HELP[kind];
              return [
                String(status),
                title,
                code(`${prefix}:`),
                means,
                `${then}${retryAfter === undefined ? '' : ` (\`Retry-After: ${retryAfter}\`)`}`,
              ];
            }),
          ),
        ].join('\n\n'),
      ),
  );
}
