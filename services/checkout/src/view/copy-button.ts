import type { Say } from '../texts/create-say.ts';
import type { TextName } from '../texts/en.ts';
import { markup, type Html } from './html.ts';
import { ICONS } from './icons.ts';

type CopyName = Extract<TextName, 'copyAmount' | 'copyAddress' | 'copyOrder' | 'copyTransaction'>;

/** Both words have the same place, so that the confirmation moves nothing. */
export function copyButton(name: CopyName, text: string, say: Say): Html {
  return markup`<button type="button" class="copy needs-script" data-copy="${text}" aria-label="${say(name)}"><span>${ICONS.copy}${say('copy')}</span><span>${ICONS.done}${say('copied')}</span></button>`;
}
