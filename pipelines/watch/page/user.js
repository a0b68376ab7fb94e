// SPDX-License-Identifier: LGPL-2.1-or-later
// Copyright (C) 2026 the gst-cuda-filters authors
// The form by which users log in, and, on the page itself, who has logged in.
'use strict';

{
  const form = document.getElementById('login'), note = document.getElementById('note');
  const post = (path, body) => fetch('api/v1/' + path,
    { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });

  const logIn = async event => {
    event.preventDefault();
    form.querySelector('button').disabled = true;
    try {
      const response = await post('login', Object.fromEntries(new FormData(form)));
      const answer = await response.json();
      if (answer.ok) {
        location.reload();
        return;
      }
      note.textContent = answer.error;
    } catch {
      note.textContent = 'cf-watch does not answer';
    }
    form.querySelector('button').disabled = false;
  };

  // Shows the user with a way out, and switches off what a viewer may not do: the server refuses it anyway. What
  // viewers may draw, draw.js knows.
  const showUser = async () => {
    const { user, role } = await (await fetch('api/v1/me')).json();
    document.body.dataset.role = role;
    window.dispatchEvent(new Event('role'));
    if (role === 'viewer')
      for (const part of document.querySelectorAll('.tools:not(#drawing, #search), #controls'))
        part.inert = true;
    if (!user)
      return;
    const out = document.createElement('button');
    out.textContent = 'Log out';
    out.onclick = async () => {
      await post('logout', {});
      location.reload();
    };
    const who = document.createElement('p');
    who.id = 'user';
    who.append(`${user} (${role}) `, out);
    document.querySelector('header').append(who);
  };

  if (form)
    form.onsubmit = logIn;
  else
    showUser();
}
