import type { Say } from '../texts/create-say.ts';
import type { TextName } from '../texts/en.ts';
import { markup, type Html } from './html.ts';
import { ICONS } from './icons.ts';

type CopyName = Extract<TextName, 'copyAmount' | 'copyAddress' | 'copyOrder' | 'copyTransaction'>;

/** A tick in place of the icon confirms, so that nothing moves. Screen readers hear `copied`. */
export function copyButton(name: CopyName, text: string, say: Say): Html {
  return markup`<button type="button" class="copy needs-script" data-copy="${text}" aria-label="${say(name)}">${ICONS.copy}${ICONS.done}${say('copy')}</button>`;
}
