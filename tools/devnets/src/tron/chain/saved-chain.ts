import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { deserialize, serialize } from 'node:v8';
import { GatewayError } from '@opentill/domain/gateway-error';
import type { Block } from './block.ts';
import type { ChainParameters } from './parameters.ts';

/** - `NOT_THIS_CHAIN`: the file contains a chain of another seed or version. Delete the file to start a new chain. */
export type SavedChainErrorCode = 'NOT_THIS_CHAIN';

/** Everything of a chain except its pool. */
export interface SavedChain {
  readonly version: number;
  readonly values: ReadonlyMap<string, unknown>;
  readonly blocks: readonly Block[];
  readonly solidNumber: number;
  readonly genesisTimeMs: number;
  readonly reorganisations: number;
  readonly parameters: ChainParameters;
}

const VERSION = 1;

/** Replaces the file atomically. */
export function writeChain(chain: Omit<SavedChain, 'version'>, file: string): void {
  const draft = `${file}.${process.pid}.draft`;
  writeFileSync(draft, serialize({ version: VERSION, ...chain } satisfies SavedChain));
  renameSync(draft, file);
}

export function loadChain(file: string, genesisId: string): SavedChain | undefined {
  if (!existsSync(file)) return undefined;
  const saved = deserialize(readFileSync(file)) as SavedChain;
  if (saved.version !== VERSION || saved.blocks[0]?.id !== genesisId) {
    throw new GatewayError<SavedChainErrorCode>(
      'NOT_THIS_CHAIN',
      `${file} contains another chain. Delete the file or use another.`,
      {
        retryable: false,
      },
    );
  }
  return saved;
}
