import type ts from 'typescript';
import type { Ways } from './text.js';

/** What the parameters of the functions around a place stand for. */
export type Around = ReadonlyMap<ts.Declaration, { readonly node: ts.Expression; readonly around: Around } | Ways>;

/** Nobody knows what would be asked there. */
export class Unreadable extends Error {
  constructor(readonly node: ts.Node) {
    super(node.getText().slice(0, 120));
  }
}
