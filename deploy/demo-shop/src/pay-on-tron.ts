import { tronAddressCodec } from '@opentill/chain-tron/address-codec';
import { DevnetRefusal } from './devnet-refusal.ts';
import type { TokenPayment } from './token-payment.ts';

/**
 * The customer of the TRON devnet: the first account of `opentill devnet tron`, which prints its key at every start. It is
 * worth nothing anywhere else.
 */
export const TRON_CUSTOMER = {
  address: 'TYutY94JEfgZtSByUA9E3RSR1ghfSH5ox1',
  privateKey: 'ffb6b97b1763ded05630dfdcd0da1b15ddd0f0a4ac6db151d5fa0399cf63cd7f',
};
const REQUEST_TIMEOUT_MS = 10_000;

/** Has the devnet sign and send a transfer of its first account. Throws DevnetRefusal. */
export async function payOnTron({
  network,
  rpcUrl,
  token,
  to,
  amountBaseUnits,
}: TokenPayment): Promise<string> {
  if (tronAddressCodec.parse(to) === undefined)
    throw new DevnetRefusal(`${to} is not an address of ${network.chain}.`);
  const gift = { address: to, symbol: token.symbol, amountBaseUnits: `${amountBaseUnits}` };
  const response = await fetch(`${rpcUrl}/devnet/fund`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(gift),
    signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
  });
  const text = await response.text();
  const [txid] = response.ok ? txidsIn(text) : [];
  if (txid !== undefined) return txid;
  throw new DevnetRefusal(`The node of ${network.chain} refused the payment: ${text.slice(0, 300)}.`);
}

function txidsIn(text: string): readonly string[] {
  return (JSON.parse(text) as { readonly txids?: readonly string[] }).txids ?? [];
}
