import type { Address } from '@opentill/chain/address-codec';
import type { ReadOptions } from '@opentill/chain/chain-reader';
import type { TokenContract } from '@opentill/chain/transfer';
import { boundedText } from '@opentill/chain-sources/node-text';
import { hexOf } from '../address-codec.ts';
import { countIn, listIn, malformed, objectIn, shownValue } from '../node-value.ts';
import type { Side } from '../tron-client.ts';
import type { TronSource } from '../tron-sources.ts';
import { messageIn } from './send-outcome.ts';

export interface ConstantAnswer {
  /** Includes the energy penalty of frequently used contracts. */
  readonly energyUsed: number;
  /** 32 bytes of hex each. */
  readonly words: readonly string[];
  readonly logs: readonly unknown[] | undefined;
  readonly failure: string | undefined;
}

/**
 * `result.result` is true even if the call reverts (java-tron, Wallet.triggerConstantContract); the failure is in
 * `result.message` or `transaction.ret`.
 */
export async function callConstant(
  source: Pick<TronSource, 'call'>,
  {
    from,
    contract,
    data,
  }: { readonly from: Address; readonly contract: TokenContract; readonly data: string },
  options: ReadOptions,
  side: Side = 'wallet',
): Promise<ConstantAnswer> {
  const body = {
    owner_address: hexOf(from),
    contract_address: hexOf(contract as string as Address),
    data,
    call_value: 0,
    visible: false,
  };
  const raw = await source.call({ side, method: 'triggerconstantcontract', body }, options);
  const answer = objectIn(raw, 'answer to a call');
  const { logs } = answer;
  return {
    energyUsed: countIn(answer['energy_used'], 'energy_used'),
    words: listIn(answer['constant_result'], 'constant_result').map(wordIn),
    logs: logs === undefined ? undefined : listIn(logs, 'logs'),
    failure: failureIn(answer),
  };
}

function wordIn(value: unknown): string {
  return typeof value === 'string' ? value : malformed('constant_result', value);
}

function failureIn(answer: Readonly<Record<string, unknown>>): string | undefined {
  const result = objectIn(answer['result'], 'result');
  const message = messageIn(result);
  if (result['result'] !== true || message !== '') {
    const code = typeof result['code'] === 'string' ? `${result['code']}: ` : '';
    return boundedText(`${code}${message === '' ? 'the call failed' : message}`);
  }
  const { transaction } = answer;
  if (transaction === undefined) return undefined;
  const [ret] = listIn(objectIn(transaction, 'transaction')['ret'], 'ret');
  const outcome = ret === undefined ? undefined : objectIn(ret, 'ret')['ret'];
  return outcome === undefined || outcome === 'SUCESS' || outcome === 'SUCCESS'
    ? undefined
    : boundedText(`the call returned ${shownValue(outcome)}`);
}
