import type { ReadOptions } from '@opentill/chain/chain-reader';
import { readerError } from '@opentill/chain/reader-error';
import { GatewayError } from '@opentill/domain/gateway-error';
import type { EvmClient } from './client.ts';
import { isRevert } from './translate-rpc-error.ts';

const DECIMALS_SELECTOR = '0x313ce567';
const WORD_GRAMMAR = /^0x[0-9a-fA-F]{64}$/;
const DATA_GRAMMAR = /^0x[0-9a-fA-F]*$/;

/**
 * Throws TOKEN_MISMATCH if a contract is missing or has other decimals, because the gateway would then book wrong
 * amounts. A node's own error ("missing trie node") is not a mismatch. Reads the code first: only a contract can
 * revert, and nodes report a revert differently, some as an internal error.
 */
export async function checkTokens(
  client: Pick<EvmClient, 'batch'>,
  tokens: readonly { readonly contract: string; readonly decimals: number }[],
  options: ReadOptions,
): Promise<void> {
  for (const token of tokens) {
    const [code] = await client.batch(
      [{ method: 'eth_getCode', params: [token.contract, 'latest'] }],
      options,
    );
    if (typeof code !== 'string' || !DATA_GRAMMAR.test(code))
      throw readerError('INCONSISTENT_ANSWER', 'the answer to eth_getCode is not hex data', { ...token });
    if (/^0x0*$/.test(code))
      throw readerError('TOKEN_MISMATCH', `there is no contract at ${token.contract}`, { ...token });
    await checkDecimals(client, token, options);
  }
}

async function checkDecimals(
  client: Pick<EvmClient, 'batch'>,
  token: { readonly contract: string; readonly decimals: number },
  options: ReadOptions,
): Promise<void> {
  const call = { method: 'eth_call', params: [{ to: token.contract, data: DECIMALS_SELECTOR }, 'latest'] };
  const [answer] = await client.batch([call], options).catch((error: unknown) => {
    if (isContractRevert(error)) return ['0x'];
    throw error;
  });
  if (typeof answer !== 'string' || !DATA_GRAMMAR.test(answer)) {
    throw readerError('INCONSISTENT_ANSWER', 'the answer to eth_call is not hex data', { ...token });
  }
  if (!WORD_GRAMMAR.test(answer)) {
    throw readerError('TOKEN_MISMATCH', `there is no token at ${token.contract}`, { ...token });
  }
  if (BigInt(answer) !== BigInt(token.decimals)) {
    throw readerError(
      'TOKEN_MISMATCH',
      `the token at ${token.contract} has ${BigInt(answer)} decimals, the networks file says ${token.decimals}`,
      { ...token },
    );
  }
}

/** A contract without decimals() reverts; some nodes report an internal error (-32603) with revert wording. */
function isContractRevert(error: unknown): boolean {
  if (!(error instanceof GatewayError)) return false;
  const { rpcCode } = error.context;
  return typeof rpcCode === 'number' && isRevert({ code: rpcCode, message: error.message });
}
