// node deploy/helm/test/write-schemas.mjs <folder> <file>...
// Writes JSON Schemas for kubeconform (<kind>_<version>.json), without unknown fields, from resource definitions (YAML)
// and from Kubernetes' own swagger.json.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const [folder, ...files] = process.argv.slice(2);
const { parseAllDocuments } = createRequire(new URL('../../compose/package.json', import.meta.url))('yaml');
mkdirSync(folder, { recursive: true });

/** Fields that a schema does not name are mistakes, unless it says that they are kept. */
function strict(schema) {
  if (Array.isArray(schema)) return schema.map(strict);
  if (schema === null || typeof schema !== 'object') return schema;
  const result = Object.fromEntries(
    Object.entries(schema).map(([name, value]) => [
      name,
      name === 'properties' ? mapValues(value, strict) : strict(value),
    ]),
  );
  if (schema['x-kubernetes-int-or-string'] === true) {
    const { type: _type, anyOf: _anyOf, format: _format, ...rest } = result;
    return { ...rest, type: ['integer', 'string'] };
  }
  const isOpen = schema['x-kubernetes-preserve-unknown-fields'] === true;
  if (schema.properties !== undefined && schema.additionalProperties === undefined && !isOpen)
    result.additionalProperties = false;
  return result;
}

function mapValues(object, change) {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [name, change(value)]));
}

function write(kind, version, schema) {
  writeFileSync(join(folder, `${kind.toLowerCase()}_${version}.json`), JSON.stringify(schema));
}

function writeDefinition({ kind, spec } = {}) {
  if (kind !== 'CustomResourceDefinition') return;
  for (const { name, schema } of spec.versions) {
    const { openAPIV3Schema } = schema;
    const properties = {
      ...openAPIV3Schema.properties,
      apiVersion: { type: 'string' },
      kind: { type: 'string' },
      metadata: { type: 'object' },
    };
    write(spec.names.kind, name, strict({ ...openAPIV3Schema, properties }));
  }
}

const INT_OR_STRING = /util\.intstr\.IntOrString$/;
const QUANTITY = /resource\.Quantity$/;

function writeKubernetes({ definitions }) {
  const closed = mapValues(definitions, (definition) => strict(definition));
  for (const name of Object.keys(closed)) {
    if (INT_OR_STRING.test(name) || QUANTITY.test(name))
      closed[name] = { type: ['integer', 'number', 'string'] };
  }
  writeFileSync(join(folder, '_definitions.json'), JSON.stringify({ definitions: closed }));
  for (const [name, definition] of Object.entries(definitions)) {
    for (const { group, kind, version } of definition['x-kubernetes-group-version-kind'] ?? []) {
      const prefix = group === '' ? '' : `${group.split('.')[0]}-`;
      const file = `${kind.toLowerCase()}-${prefix}${version}.json`;
      writeFileSync(join(folder, file), JSON.stringify({ $ref: `_definitions.json#/definitions/${name}` }));
    }
  }
}

for (const file of files) {
  const text = readFileSync(file, 'utf8');
  if (file.endsWith('.json')) writeKubernetes(JSON.parse(text));
  else for (const document of parseAllDocuments(text)) writeDefinition(document.toJS() ?? undefined);
}
