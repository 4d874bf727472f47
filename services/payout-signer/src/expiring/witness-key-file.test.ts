import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openWitnessKeyFile } from './witness-key-file.ts';

test('stores witness keys per chain in a file that only its owner can read', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'witness-keys-'));
  expect(await openWitnessKeyFile(directory, 'TRON').read()).toBeUndefined();
  await openWitnessKeyFile(directory, 'TRON').write('{"a":1}');
  expect(JSON.parse((await openWitnessKeyFile(directory, 'TRON').read())!)).toEqual({ a: 1 });
  expect(await openWitnessKeyFile(directory, 'TRON_TEST').read()).toBeUndefined();
  expect((await stat(join(directory, 'witness-keys-TRON.json'))).mode & 0o777).toBe(0o600);
  await rm(directory, { recursive: true });
});
