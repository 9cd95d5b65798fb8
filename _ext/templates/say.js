  // A text of a script, in the language of the page: say`a ${b} c` is the message "a {1} c".
  const say = (parts, ...values) => {
    const said = parts.reduce((text, part, i) => `${text}{${i}}${part}`);
    return (bookWords[said] ?? said).replace(/\{(\d)\}/g, (_, i) => values[i - 1]);
  };
