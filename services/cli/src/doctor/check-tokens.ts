import { checkTokens } from '@opentill/chain-evm/check-tokens';
import type { EvmClient } from '@opentill/chain-evm/client';
import { isReaderError } from '@opentill/chain/reader-error';
import type { NetworkConfig, TokenConfig } from '@opentill/contracts/network-config';
import { GatewayError } from '@opentill/domain/gateway-error';
import type { Endpoint } from './endpoint.ts';
import { decodeTokenSymbol } from './decode-token-symbol.ts';
import { fail, findingOf, ok, sentence, type Finding } from './finding.ts';

/** The first four bytes of keccak256("symbol()"). */
const SYMBOL_SELECTOR = '0x95d89b41';

/**
 * The gateway may rely on any endpoint, so it asks all. The token's own symbol is only shown: any contract may copy
 * one.
 */
export async function examineTokens(
  endpoints: readonly Pick<Endpoint, 'client' | 'label'>[],
  network: NetworkConfig,
): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  for (const token of network.tokens) {
    const found = await Promise.all(
      endpoints.map(async ({ client, label }) => ({ label, finding: await examineToken(client, token) })),
    );
    const wrong = found.filter(({ finding }) => finding.outcome !== 'ok');
    const isEverywhere = wrong.length === found.length;
    const [first] = found;
    if (first !== undefined && (wrong.length === 0 || isEverywhere)) findings.push(first.finding);
    else
      for (const { label, finding } of wrong)
        findings.push({ ...finding, subject: `${token.symbol} at ${label}` });
  }
  return findings;
}

async function examineToken(client: EvmClient, token: TokenConfig): Promise<Finding> {
  const { contract, decimals, symbol } = token;
  const found = { subject: symbol, check: 'token' };
  if (contract === null) {
    const detail = 'The native coin: detected if a transaction sends it directly, not if a contract does.';
    return ok(found, detail);
  }
  const mend =
    'Correct contract and decimals in the network file, or remove the endpoint if only this one differs: it is not used.';
  try {
    await checkTokens(client, [{ contract, decimals }], {});
    const own = await readSymbol(client, contract);
    const called = own === undefined ? 'has no symbol of its own' : `calls itself ${own}`;
    return ok(found, `${contract} has ${decimals} decimals and ${called}.`);
  } catch (error) {
    if (!isReaderError(error, 'TOKEN_MISMATCH')) return findingOf(error, symbol, 'token');
    return fail(found, sentence(error.message), mend);
  }
}

async function readSymbol(client: EvmClient, contract: string): Promise<string | undefined> {
  const call = { method: 'eth_call', params: [{ to: contract, data: SYMBOL_SELECTOR }, 'latest'] };
  try {
    const [answer] = await client.batch([call]);
    return decodeTokenSymbol(answer);
  } catch (error) {
    if (error instanceof GatewayError) return undefined;
    throw error;
  }
}
