import { evmAddressCodec } from '@opentill/chain-evm/address';
import { DevnetRefusal } from './devnet-refusal.ts';
import type { TokenPayment } from './token-payment.ts';

/** anvil's second default account. Its mnemonic is published, so this key is worthless on other chains. */
export const EVM_CUSTOMER = {
  address: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
  privateKey: '0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d',
};
const TRANSFER_SELECTOR = 'a9059cbb';
const REQUEST_TIMEOUT_MS = 10_000;

/** Makes the node sign and send a transfer from its second account. Throws DevnetRefusal. */
export async function payOnEvm({
  network,
  rpcUrl,
  token,
  to,
  amountBaseUnits,
}: TokenPayment): Promise<string> {
  const receiver = evmAddressCodec.parse(to);
  if (receiver === undefined) throw new DevnetRefusal(`${to} is not an address of ${network.chain}.`);
  const data = `0x${TRANSFER_SELECTOR}${word(BigInt(receiver))}${word(amountBaseUnits)}`;
  const transaction = { from: EVM_CUSTOMER.address, to: token.contract, data };
  const response = await fetch(rpcUrl, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_sendTransaction', params: [transaction] }),
    signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
  });
  const answer = (await response.json()) as { result?: string; error?: { message: string } };
  if (answer.result !== undefined) return answer.result;
  throw new DevnetRefusal(
    `The node of ${network.chain} refused the payment: ${answer.error?.message ?? 'no answer'}.`,
  );
}

function word(value: bigint): string {
  return value.toString(16).padStart(64, '0');
}
