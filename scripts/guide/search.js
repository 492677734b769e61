import { find, OPTIONS } from './find.js';
import MiniSearch from './minisearch.js';

const { document } = globalThis;
/** The box of each page. The index is fetched when somebody wants it. */
const box = document.querySelector('#search');
const list = document.querySelector('#found');
let index;

async function loaded() {
  index ??= fetch('/guide/search.json')
    .then((answer) => answer.text())
    .then((text) => MiniSearch.loadJSON(text, OPTIONS));
  return index;
}

async function show() {
  const wanted = box.value;
  const found = wanted.trim() === '' ? [] : find(await loaded(), wanted);
  if (box.value !== wanted) return;
  list.replaceChildren(...found.map(entry));
  list.hidden = wanted.trim() === '';
  if (!list.hidden && found.length === 0) list.append(element('li', 'Nothing is called or says that.'));
}

function entry({ title, where, url, text }) {
  const link = element('a', title);
  link.href = url;
  const item = element('li', '');
  item.append(link, element('small', where), element('p', text.slice(0, 140)));
  return item;
}

function element(name, text) {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}

box.hidden = false;
box.addEventListener('focus', () => void loaded());
box.addEventListener('input', () => void show());
if (box.value !== '') void show();
