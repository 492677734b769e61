import { describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * What the project says is elsewhere in the project is there: files and headings that a page links to, files that a page names, and pages
 * that errors, alerts and settings name. Headings have the ids that GitHub gives them; the build of the guide looks after its own.
 */
const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** What is made of something else. */
const MADE = /^(openapi|schemas)\//;
/** A release is told as it was. */
const HISTORY = 'CHANGELOG.md';

/** Those of the project: data of a service and what other tests make beside them are none. */
const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], { cwd: ROOT, encoding: 'utf8' })
  .split('\n')
  .filter((file) => file !== '' && !MADE.test(file) && existsSync(join(ROOT, file)));
const folders = readdirSync(ROOT, { withFileTypes: true }).flatMap((entry) =>
  entry.isDirectory() && entry.name !== 'dist' ? [entry.name] : [],
);
const pages = files.filter((file) => file.endsWith('.md'));
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');

const withoutBlocks = (text: string): string => text.replace(/^( *)```[\s\S]*?^\1```/gm, '');

const idsOfPages = new Map<string, Set<string>>();
function idsOf(page: string): Set<string> {
  const known = idsOfPages.get(page) ?? headings(withoutBlocks(read(page)));
  idsOfPages.set(page, known);
  return known;
}
function headings(text: string): Set<string> {
  const ids = new Set([...text.matchAll(/<a id="([^"]+)">/g)].map(([, id]) => id!));
  for (const [, title] of text.matchAll(/^#{1,6} (.+)$/gm)) {
    const slug = title!
      .replace(/<[^>]*>|\]\([^)]*\)/g, '')
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .trim()
      .replaceAll(' ', '-');
    const times = [...ids].filter((id) => id === slug || new RegExp(`^${slug}-\\d+$`).test(id)).length;
    ids.add(times === 0 ? slug : `${slug}-${times}`);
  }
  return ids;
}

/** What is wrong with a path, with an `#anchor` or not, that stands in a file. */
function faultsOf(target: string, where: string, folder: string): string[] {
  const [path, anchor] = target.split('#') as [string, string?];
  const file = path === '' ? where : normalize(join(folder, path));
  if (!existsSync(join(ROOT, file))) return [`${where}: there is no ${target}`];
  return anchor === undefined || !file.endsWith('.md') || idsOf(file).has(anchor) ? [] : [`${where}: there is no heading ${target}`];
}
const faultsOfLink = (target: string, page: string): string[] => faultsOf(target, page, dirname(page));
const faultsOfName = (target: string, file: string): string[] => faultsOf(target, file, '');

describe('what a page', () => {
  it('links to, or shows, is there', () => {
    const links = pages.flatMap((page) =>
      [...withoutBlocks(read(page)).matchAll(/\]\(([^)\s]+)\)|\b(?:src|srcset|href)="([^"]+)"/g)]
        .map(([, link, shown]) => (link ?? shown)!)
        // `/docs` and the like are addresses of the service.
        .filter((target) => !/^(?:[a-z]+:|\/)/.test(target))
        .map((target) => ({ target, page })),
    );
    expect(links.length).toBeGreaterThan(200);
    expect(links.flatMap(({ target, page }) => faultsOfLink(target, page))).toEqual([]);
  });

  it('names of the project is there', () => {
    const named = pages
      .filter((page) => page !== HISTORY)
      .flatMap((page) =>
        [...withoutBlocks(read(page)).matchAll(/`([\w.-]+\/[\w./-]+\.\w+)`/g)]
          .map(([, target]) => ({ target: target!, page }))
          .filter(({ target }) => folders.includes(target.split('/')[0]!) && !/NNNN|TABLE|NAME/.test(target)),
      );
    expect(named.length).toBeGreaterThan(20);
    expect(named.flatMap(({ target, page }) => faultsOfName(target, page))).toEqual([]);
  });
});

describe('a page that', () => {
  const NAMED = /(?<![\w./-])(?:(?:docs|deploy|examples)\/[\w./-]+|SECURITY|CONTRIBUTING)\.md(?:#[\w-]+)?/g;
  it('an error, an alert, a setting or a comment names is there', () => {
    const named = files
      .filter((file) => /\.(?:[cm]?[jt]sx?|ya?ml|tpl|txt|json|sh|sql|toml)$|Dockerfile$/.test(file))
      .flatMap((file) => [...read(file).matchAll(NAMED)].map(([target]) => ({ target, file })));
    expect(named.length).toBeGreaterThan(30);
    expect(named.flatMap(({ target, file }) => faultsOfName(target, file))).toEqual([]);
  });
});
