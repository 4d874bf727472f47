import type { ReadOptions } from '@opentill/chain/chain-reader';
import { isReaderError, readerError } from '@opentill/chain/reader-error';
import type { TokenContract } from '@opentill/chain/transfer';
import { checkSources, type SourceDefect as FoundInSource } from '@opentill/chain-sources/check-sources';
import { listIn, objectIn } from './node-value.ts';
import type { TronCall } from './tron-client.ts';
import type { TronSource, TronSources } from './tron-sources.ts';
import { readHeader } from './tron-sources.ts';

export type SourceLack =
  /** No receipts of whole blocks. Without another source no payment is seen. */
  | 'RECEIPTS_MISSING'
  /** No `/walletsolidity` (see `solidityUrls`). Without another source no payment is credited. */
  | 'SOLID_MISSING';

export type SourceDefect = FoundInSource<SourceLack>;

export interface NetworkCheck {
  readonly tokens: readonly {
    readonly contract: TokenContract;
    readonly hex: string;
    readonly decimals: number;
  }[];
  readonly onFinding: (finding: SourceDefect) => void;
}

const WORD = /^[0-9a-f]{64}$/;
const ZERO_HEX = `41${'0'.repeat(40)}`;

/** Also tries the reader's calls. Throws as checkSources. */
export async function checkNetwork(
  sources: TronSources,
  check: NetworkCheck,
  options: ReadOptions,
): Promise<void> {
  await checkSources(
    sources,
    async (source, own) => {
      await checkTokens(source, check, own);
      await probeMethods(source, check, own);
    },
    check.onFinding,
    options,
  );
}

async function probeMethods(source: TronSource, check: NetworkCheck, options: ReadOptions): Promise<void> {
  const { height } = await readHeader(source, options);
  const probe = async (kind: SourceLack, call: TronCall): Promise<void> => {
    try {
      await source.call(call, options);
    } catch (error) {
      if (!isReaderError(error, 'RPC_METHOD_MISSING')) throw error;
      check.onFinding({ source: source.label, kind, error });
    }
  };
  const body = { num: height };
  await probe('RECEIPTS_MISSING', { side: 'wallet', method: 'gettransactioninfobyblocknum', body });
  await probe('SOLID_MISSING', {
    side: 'walletsolidity',
    method: 'getblock',
    body: { detail: false },
  });
}

/** With a wrong contract or number of decimals the gateway would book wrong amounts. */
async function checkTokens(
  source: TronSource,
  { tokens }: NetworkCheck,
  options: ReadOptions,
): Promise<void> {
  if (tokens.length === 0) await readHeader(source, options);
  for (const { contract, hex, decimals } of tokens) {
    const context = { contract, decimals };
    const found = await readDecimals(source, hex, options);
    if (found === undefined) throw readerError('TOKEN_MISMATCH', `there is no token at ${contract}`, context);
    if (found !== BigInt(decimals))
      throw readerError(
        'TOKEN_MISMATCH',
        `the token at ${contract} has ${found} decimals, the networks file says ${decimals}`,
        context,
      );
  }
}

/**
 * Undefined if there is no contract, or the call fails or returns no number. An empty answer throws
 * INCONSISTENT_ANSWER: nodes that are behind return it, and it must not exclude a source.
 */
async function readDecimals(
  source: TronSource,
  hex: string,
  options: ReadOptions,
): Promise<bigint | undefined> {
  const body = {
    owner_address: ZERO_HEX,
    contract_address: hex,
    function_selector: 'decimals()',
    parameter: '',
  };
  const raw = await source.call({ side: 'wallet', method: 'triggerconstantcontract', body }, options);
  const answer = objectIn(raw, 'answer to a call');
  if (answer['result'] === undefined)
    throw readerError('INCONSISTENT_ANSWER', 'the node did not answer a call', { contract: hex });
  const [word] = listIn(answer['constant_result'], 'constant_result');
  return typeof word === 'string' && WORD.test(word) ? BigInt(`0x${word}`) : undefined;
}
