import { DevnetRefusal } from './devnet-refusal.ts';
import type { TokenPayment } from './token-payment.ts';

const REQUEST_TIMEOUT_MS = 10_000;

/**
 * Makes a devnet sign and send a transfer from its first account. `idsName` is the field of the answer with the
 * transaction ids. Returns the first id. Throws DevnetRefusal.
 */
export async function askDevnetToPay(
  { network, rpcUrl, token, to, amountBaseUnits }: TokenPayment,
  isAddress: (text: string) => boolean,
  idsName: 'txids' | 'digests',
): Promise<string> {
  if (!isAddress(to)) throw new DevnetRefusal(`${to} is not an address of ${network.chain}.`);
  const gift = { address: to, symbol: token.symbol, amountBaseUnits: `${amountBaseUnits}` };
  const response = await fetch(`${rpcUrl}/devnet/fund`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(gift),
    signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
  });
  const text = await response.text();
  const [id] = response.ok ? idsIn(text, idsName) : [];
  if (id !== undefined) return id;
  throw new DevnetRefusal(`The node of ${network.chain} refused the payment: ${text.slice(0, 300)}.`);
}

function idsIn(text: string, name: string): readonly string[] {
  return (JSON.parse(text) as Partial<Record<string, readonly string[]>>)[name] ?? [];
}
