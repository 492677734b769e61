/**
 * The guide: the Markdown pages of `docs`, with SECURITY.md and the page of the examples, as HTML without scripts but the search, and its
 * index. Pages link to each other by their files, as on any other reader of Markdown; here these are addresses below /guide.
 */
import { copyFile, cp, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, posix } from 'node:path';
import { Marked } from 'marked';
import MiniSearch from 'minisearch';
import { OPTIONS } from './find.js';
import { guideSources, OTHERS } from './sources.mjs';

const HERE = import.meta.dirname;
/** Where the guide is served. */
const BASE = '/guide';
/** Of a text as much as finds it. */
const TEXT = 400;

/** Writes the guide and the schemas of files into `out`, beside what is there until they are whole. */
export async function buildGuide(root, out) {
  const fresh = join(out, `.pages-${process.pid}`);
  const guide = join(fresh, 'guide');
  const pages = await render(root);
  for (const { path, html } of pages.all) await write(join(guide, `${path}.html`), html);
  await write(join(guide, 'search.json'), JSON.stringify(pages.index));
  for (const name of ['find.js', 'search.js', 'guide.css']) await copyFile(join(HERE, name), join(guide, name));
  const library = createRequire(import.meta.url).resolve('minisearch');
  const module = (await readFile(join(dirname(library), '../es/index.js'), 'utf8')).replace(/^\/\/# sourceMappingURL=.*$/m, '');
  await writeFile(join(guide, 'minisearch.js'), module);
  await cp(join(root, 'schemas'), join(fresh, 'schemas'), { recursive: true });
  for (const folder of ['guide', 'schemas']) {
    await rm(join(out, folder), { recursive: true, force: true });
    await rename(join(fresh, folder), join(out, folder));
  }
  await rm(fresh, { recursive: true });
}

/** All pages, and the index of what they say. @throws Error for a link that leads nowhere */
export async function render(root) {
  const files = [...(await guideSources(root)).filter((file) => file.startsWith('docs/') && file.endsWith('.md')), ...OTHERS.keys()];
  const read = await Promise.all(files.map(async (file) => pageOf(file, await readFile(join(root, file), 'utf8'))));
  const byFile = new Map(read.map((page) => [page.file, page]));
  const navigation = navigationOf(byFile.get('docs/README.md'));
  const entries = [];
  const all = read.map((page) => ({ ...page, html: htmlOf(page, byFile, navigation, entries) }));
  checkAnchors(all);
  const index = new MiniSearch(OPTIONS);
  index.addAll(entries.map((entry, id) => ({ id, ...entry })));
  return { all, index };
}

function pageOf(file, text) {
  const path = OTHERS.get(file) ?? (file === 'docs/README.md' ? 'index' : file.slice('docs/'.length).replace(/\.md$/, ''));
  return { file, path, text, title: /^# (.+)$/m.exec(text)?.[1] ?? path, url: path === 'index' ? BASE : `${BASE}/${path}` };
}

/** The lists of the first page are what stands beside each. */
function navigationOf({ text }) {
  return [...text.matchAll(/^## (.+)\n([\s\S]*?)(?=^## |$(?![\s\S]))/gm)].map(([, title, body]) => ({
    title,
    links: [...body.matchAll(/^- \[(.+?)\]\((.+?)\)/gm)].map(([, name, target]) => ({ name, target })),
  }));
}

function htmlOf(page, byFile, navigation, entries) {
  const marked = new Marked();
  const link = (target, from = page.file) => linkOf(target, from, byFile);
  const seen = new Map();
  let heading = { title: page.title, url: page.url };
  entries.push({
    title: plain(page.title),
    where: '',
    url: page.url,
    text: plain(page.text.replace(/```[\s\S]*?```|^#+ .*$/gm, '')).slice(0, TEXT),
  });
  const say = (text) => {
    const last = entries.at(-1);
    if (last.text.length < TEXT) last.text = `${last.text} ${text}`.trim().slice(0, TEXT);
  };
  marked.use({
    walkTokens(token) {
      if (token.type === 'link' && !/^[a-z]+:/.test(token.href)) token.href = link(token.href);
    },
    renderer: {
      heading({ tokens, depth, text }) {
        const inner = this.parser.parseInline(tokens);
        const title = plain(text);
        const given = /<a id="([^"]+)">/.exec(text)?.[1];
        const slug = given ?? slugOf(title);
        const count = seen.get(slug) ?? 0;
        seen.set(slug, count + 1);
        const id = count === 0 ? slug : `${slug}-${count}`;
        if (depth > 1) {
          heading = { title, url: `${page.url}#${id}` };
          entries.push({ ...heading, where: page.title, text: '' });
        }
        return `<h${depth}${given === undefined ? ` id="${id}"` : ''}>${inner}</h${depth}>\n`;
      },
      paragraph({ tokens, text }) {
        say(plain(text));
        return `<p>${this.parser.parseInline(tokens)}</p>\n`;
      },
      tablecell(token) {
        return cellOf(this.parser, token);
      },
      html({ text }) {
        // What is said to tests is not for readers.
        return /^<!--[\s\S]*-->\s*$/.test(text) ? '' : text;
      },
    },
    hooks: {
      processAllTokens(tokens) {
        for (const token of tokens) if (token.type === 'table') for (const row of token.rows) rowEntry(row, page, tokens, token, entries);
        return tokens;
      },
    },
  });
  const body = marked.parse(page.text);
  return shell(page, body, navigation, link);
}

/** A row that can be linked to is an entry of the search. */
function rowEntry(row, page, tokens, table, entries) {
  const id = /<a id="([^"]+)">/.exec(row[0].text)?.[1];
  if (id === undefined) return;
  const above = tokens.slice(0, tokens.indexOf(table)).findLast(({ type }) => type === 'heading');
  const where = [page.title, ...(above === undefined || above.depth === 1 ? [] : [plain(above.text)])].join(', ');
  const title = plain(/`+ ?(.+?) ?`+/.exec(row[0].text)?.[1] ?? row[0].text);
  const text = row
    .slice(1)
    .map((cell) => plain(cell.text))
    .filter((part) => part !== '')
    .join('. ');
  entries.push({ title, where, url: `${page.url}#${id}`, text: text.slice(0, TEXT) });
}

function cellOf(parser, { tokens, header }) {
  const tag = header ? 'th' : 'td';
  return `<${tag}>${parser.parseInline(tokens)}</${tag}>\n`;
}

/** The address of a link from a page: of the guide, of the service, or as it is. */
function linkOf(target, from, byFile) {
  if (target.startsWith('#') || target.startsWith('/')) return target;
  const [path, hash] = target.split('#');
  const file = posix.normalize(posix.join(posix.dirname(from), path));
  const page = byFile.get(file);
  if (page !== undefined) return hash === undefined ? page.url : `${page.url}#${hash}`;
  throw new Error(`${from}: the link to ${target} leads nowhere`);
}

function checkAnchors(pages) {
  const ids = new Map(pages.map(({ url, html }) => [url, new Set([...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id))]));
  for (const { file, url, html } of pages)
    for (const [, href] of html.matchAll(/href="(\/guide[^"]*#[^"]+|#[^"]+)"/g)) {
      const [path, hash] = href.split('#');
      if (ids.get(path === '' ? url : path)?.has(hash) !== true) throw new Error(`${file}: there is nothing at ${href}`);
    }
}

function shell(page, body, navigation, link) {
  const menu = navigation.map(({ title, links }) => {
    const items = links.map(({ name, target }) => {
      const href = link(target, 'docs/README.md');
      return `<li><a href="${href}"${href === page.url ? ' aria-current="page"' : ''}>${escaped(plain(name))}</a></li>`;
    });
    return `<h2>${escaped(title)}</h2><ul>${items.join('')}</ul>`;
  });
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(plain(page.title))}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${BASE}/guide.css">
<script type="module" src="${BASE}/search.js"></script>
</head>
<body>
<nav aria-label="Guide">
<input id="search" type="search" placeholder="Search the guide" aria-label="Search" hidden>
<ul id="found" hidden></ul>
<ul><li><a href="${BASE}">Guide</a></li><li><a href="/ui/">Page</a></li><li><a href="/docs">API</a></li></ul>
${menu.join('\n')}
</nav>
<main>
${body}</main>
</body>
</html>
`;
}

function slugOf(title) {
  return title
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_.-]/gu, '')
    .trim()
    .replace(/[\s.]+/g, '-');
}

/** Without marks of Markdown and HTML. */
function plain(text) {
  return text
    .replace(/<[^>]*>/g, '')
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/[`*|]/g, '')
    .replace(/\s+/g, ' ')
    .trim();
}

function escaped(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

async function write(file, text) {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text);
}
