import { describe, expect, it } from '@jest/globals';
import type { OpenAPIObject } from '@nestjs/swagger';
import { outlineOf } from './outline.js';

const operation = {
  operationId: 'create-bead',
  summary: 'Create a bead',
  description: 'long',
  tags: ['beads'],
  security: [{ apiKey: ['operate'] }],
  parameters: [{ name: 'cityName', in: 'path' }],
  responses: { 201: { description: 'made' } },
};
const document = {
  openapi: '3.1.0',
  info: { title: 'a', version: '1' },
  servers: [{ url: '/' }],
  tags: [{ name: 'beads', description: 'Work.' }],
  paths: { '/v0/city/{cityName}/beads': { post: operation } },
  components: { schemas: { Bead: { type: 'string', pattern: 'x' } }, securitySchemes: { apiKey: { type: 'http' } }, headers: { H: {} } },
} as unknown as OpenAPIObject;

describe('the outline of a document', () => {
  it('has what the page shows before something is opened, and nothing else', () => {
    const { parameters: _parameters, responses: _responses, description: _description, ...shown } = operation;
    const { components: _components, paths: _paths, ...head } = document;
    expect(outlineOf(document)).toEqual({
      ...head,
      paths: { '/v0/city/{cityName}/beads': { post: shown } },
      components: { schemas: { Bead: { type: 'object', properties: { '…': {} } } }, securitySchemes: { apiKey: { type: 'http' } } },
    });
  });

  it('has components in the order of their names', () => {
    const schemas = { b: {}, c: {}, a: {} };
    expect(Object.keys(outlineOf({ ...document, components: { schemas } }).components!.schemas!)).toEqual(['a', 'b', 'c']);
  });

  it('folds what has to be known once, so that the families are seen at once', () => {
    const info = { title: 'a', version: '1', description: 'One.\n\n### Keys\n\nTwo.' };
    expect(outlineOf({ ...document, info }).info.description).toMatch(
      /^One\.\n\n<details>\n<summary>.*Keys<\/summary>\n\n### Keys\n\nTwo\.\n\n<\/details>$/,
    );
  });
});
