import type { ReadOptions } from '@opentill/chain/chain-reader';
import { isReaderError, readerError } from '@opentill/chain/reader-error';
import type { EvmClient } from './client.ts';
import { isRevert } from './translate-rpc-error.ts';

/** The first four bytes of keccak256("decimals()"). */
const DECIMALS_SELECTOR = '0x313ce567';
const WORD_GRAMMAR = /^0x[0-9a-fA-F]{64}$/;
const DATA_GRAMMAR = /^0x[0-9a-fA-F]*$/;

/**
 * Asks each configured token for its decimals, which only a contract answers. A wrong contract or number of decimals
 * would book wrong amounts, so it is TOKEN_MISMATCH before anything is read; only what the contract itself says is, not
 * a node's fault, which passes ("missing trie node"). The client checks the chain id itself.
 */
export async function checkTokens(
  client: EvmClient,
  tokens: readonly { readonly contract: string; readonly decimals: number }[],
  options: ReadOptions,
): Promise<void> {
  const [head] = await client.batch([{ method: 'eth_blockNumber', params: [] }], options);
  if (typeof head !== 'string') throw readerError('INCONSISTENT_ANSWER', 'the node names no head');
  for (const token of tokens) {
    const call = { method: 'eth_call', params: [{ to: token.contract, data: DECIMALS_SELECTOR }, 'latest'] };
    const [answer] = await client.batch([call], options).catch((error: unknown) => {
      if (isContractsRefusal(error)) return ['0x'];
      throw error;
    });
    if (typeof answer !== 'string' || !DATA_GRAMMAR.test(answer)) {
      throw readerError('INCONSISTENT_ANSWER', 'the answer to a call is no data', { ...token });
    }
    if (!WORD_GRAMMAR.test(answer)) {
      throw readerError('TOKEN_MISMATCH', `there is no token at ${token.contract}`, { ...token });
    }
    if (BigInt(answer) !== BigInt(token.decimals)) {
      throw readerError('TOKEN_MISMATCH', `the token at ${token.contract} has ${BigInt(answer)} decimals`, {
        ...token,
      });
    }
  }
}

/** A contract without decimals() reverts. */
function isContractsRefusal(error: unknown): boolean {
  if (!isReaderError(error, 'RPC_REFUSED')) return false;
  const { rpcCode } = error.context;
  return typeof rpcCode === 'number' && isRevert({ code: rpcCode, message: error.message });
}
