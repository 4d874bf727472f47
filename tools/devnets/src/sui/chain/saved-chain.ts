import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { deserialize, serialize } from 'node:v8';
import { GatewayError } from '@opentill/domain/gateway-error';
import type { Chain } from './chain.ts';

/** - `NOT_THIS_CHAIN`: the file contains a chain of another seed or version. Delete the file to start a new chain. */
export type SavedSuiChainErrorCode = 'NOT_THIS_CHAIN';

type SavedChain = Omit<Chain, 'listeners' | 'locks' | 'submissions' | 'held'>;

const VERSION = 1;

/** Replaces the file atomically. Throws a system error. */
export function writeChain(chain: Chain, file: string): void {
  const { listeners: _listeners, locks: _locks, submissions: _submissions, held: _held, ...saved } = chain;
  const draft = `${file}.${process.pid}.draft`;
  writeFileSync(draft, serialize({ version: VERSION, chain: saved }));
  renameSync(draft, file);
}

export function loadChain(file: string, fresh: Chain): Chain {
  if (!existsSync(file)) return fresh;
  const { version, chain } = deserialize(readFileSync(file)) as { version: number; chain: SavedChain };
  if (version !== VERSION || chain.id !== fresh.id) {
    throw new GatewayError<SavedSuiChainErrorCode>(
      'NOT_THIS_CHAIN',
      `${file} contains another chain. Delete the file or use another.`,
      {
        retryable: false,
      },
    );
  }
  return { ...chain, listeners: new Set(), locks: new Map(), submissions: new Map(), held: undefined };
}
